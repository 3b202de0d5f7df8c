package ir

import (
	"distaff/io/tensor"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Print returns f in the text form, which Parse reads back:
//
//	func spmv
//	  param y float64 = t0.vals
//	  param pos int32 const = t1.level1.pos
//	  param n = t1.level0.size
//	  bounds ilo ihi
//	  threads T
//	{
//	  for i in max(ilo, 0) : min(ihi, n) parallel(dynamic, 16) {
//	    var s float64 = 0.0
//	    for p in pos[i:64] : pos[(i + 1):64] {
//	      s += vals[p] * x[crd[p:64]]
//	    }
//	    y[i] = s
//	  }
//	}
//
// A load A[i:64] widens to Int64. The shape of a literal shows its type: 5 and 5i32, 1.5 and 1.5f,
// complex128(1.0, 2.0). The first line of a comment starts with # and a space, and its further
// lines with #| and a space. A name is quoted, as in @"for", if it is not an identifier or is a
// word of the text form.
func Print(f *Func) string {
	p := &printer{}
	p.line("func %s", name(f.Name))
	p.depth++
	for _, q := range f.Params {
		switch {
		case q.A != nil:
			p.line("param %s %s = %s", name(q.A.Name), elem(q.A), q.Slot)
		case q.V != nil:
			p.line("param %s = %s", name(q.V.Name), q.Slot)
		default:
			p.line("param _ = %s", q.Slot)
		}
	}
	for _, b := range f.Bounds {
		p.line("bounds %s %s", varName(b[0]), varName(b[1]))
	}
	if f.Threads != nil {
		p.line("threads %s", name(f.Threads.Name))
	}
	p.depth--
	if f.Body == nil {
		return p.b.String()
	}
	p.line("{")
	p.block(f.Body)
	p.line("}")
	return p.b.String()
}

// PrintStmt returns the text form of one statement.
func PrintStmt(s Stmt) string {
	p := &printer{}
	p.stmt(s)
	return p.b.String()
}

// PrintExpr returns the text form of one expression.
func PrintExpr(x Expr) string { return expr(x, 0) }

func (x *Var) String() string    { return PrintExpr(x) }
func (x *Lit) String() string    { return PrintExpr(x) }
func (x *Binary) String() string { return PrintExpr(x) }
func (x *Unary) String() string  { return PrintExpr(x) }
func (x *Load) String() string   { return PrintExpr(x) }
func (x *Cast) String() string   { return PrintExpr(x) }
func (x *Select) String() string { return PrintExpr(x) }
func (x *Search) String() string { return PrintExpr(x) }

// words is the set of words that have a meaning in the text form.
var words = map[string]bool{
	"func": true, "param": true, "bounds": true, "threads": true, "const": true, "var": true,
	"for": true, "in": true,
	"step": true, "parallel": true, "dynamic": true, "static": true, "vector": true, "unrolled": true,
	"serial": true, "reduce": true,
	"while": true, "if": true, "ordered": true, "else": true, "alloc": true, "local": true,
	"undefined": true, "prefetch": true, "zero": true, "grow": true, "free": true, "fill": true,
	"copy": true, "stream": true, "sort": true, "sortby": true, "alloctable": true, "keep": true,
	"take": true, "freetable": true,
	"gemm": true, "spmm": true, "call": true, "launch": true, "shared": true, "barrier": true,
	"shuffle": true, "scan": true, "blocks": true, "warps": true, "lanes": true,
	"publish": true, "fail": true, "atomic": true, "min": true, "max": true, "select": true,
	"search": true, "searchupper": true,
	"true": true, "false": true, "inf": true, "nan": true, "inff": true, "nanf": true, "_": true,
	"bool": true, "int32": true, "int64": true, "float32": true, "float64": true, "complex64": true,
	"complex128": true,
}

func isIdent(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

func name(s string) string {
	if isIdent(s) && !words[s] {
		return s
	}
	return "@" + strconv.Quote(s)
}

func varName(v *Var) string {
	if v == nil {
		return "_"
	}
	return name(v.Name)
}

func elem(a *Array) string {
	if a.Const {
		return a.Elem.String() + " const"
	}
	return a.Elem.String()
}

type printer struct {
	b     strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) block(b *Block) {
	p.depth++
	for _, s := range b.List {
		p.stmt(s)
	}
	p.depth--
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		p.line("{")
		p.block(s)
		p.line("}")
	case *Comment:
		for i, l := range strings.Split(s.Text, "\n") {
			if i == 0 {
				p.line("# %s", l)
			} else {
				p.line("#| %s", l)
			}
		}
	case *Declare:
		p.line("var %s %s = %s", name(s.V.Name), s.V.Typ, expr(s.Init, 0))
	case *Assign:
		p.line("%s %s %s", name(s.V.Name), assignOp(s.Accumulate), expr(s.X, 0))
	case *Store:
		atomic := ""
		if s.Atomic {
			atomic = "atomic "
		}
		p.line("%s%s[%s] %s %s", atomic, name(s.A.Name), expr(s.Index, 0), assignOp(s.Accumulate),
			expr(s.X, 0))
	case *For:
		p.line("for %s in %s : %s%s {", name(s.V.Name), expr(s.Lo, 0), expr(s.Hi, 0), loopClauses(s))
		p.block(s.Body)
		p.line("}")
	case *While:
		p.line("while %s {", expr(s.Cond, 0))
		p.block(s.Body)
		p.line("}")
	case *If:
		p.line("if %s {", expr(s.Cond, 0))
		p.block(s.Then)
		if s.Else != nil {
			p.line("} else {")
			p.block(s.Else)
		}
		p.line("}")
	case *Ordered:
		p.line("ordered {")
		p.block(s.Body)
		p.line("}")
	case *Alloc:
		zero := ""
		if s.Zero {
			zero = " zero"
		}
		p.line("alloc %s %s[%s]%s", name(s.A.Name), elem(s.A), expr(s.Len, 0), zero)
	case *Local:
		undefined := ""
		if s.Undefined {
			undefined = " undefined"
		}
		p.line("local %s %s[%d]%s", name(s.A.Name), elem(s.A), s.Len, undefined)
	case *Prefetch:
		length, far := "", ""
		if s.Len > 1 {
			length = fmt.Sprintf(", %d", s.Len)
		}
		if s.Far {
			far = " far"
		}
		p.line("prefetch %s[%s]%s%s", name(s.A.Name), expr(s.Index, 0), length, far)
	case *Grow:
		p.line("grow %s, %s, %s", name(s.A.Name), name(s.Cap.Name), expr(s.Need, 0))
	case *Free:
		p.line("free %s", name(s.A.Name))
	case *Fill:
		p.line("fill %s[%s : %s] = %s", name(s.A.Name), expr(s.Lo, 0), expr(s.Hi, 0), expr(s.X, 0))
	case *Copy:
		word := "copy"
		if s.Stream {
			word = "stream"
		}
		p.line(word+" %s[%s] = %s[%s], %s", name(s.Dst.Name), expr(s.DstLo, 0), name(s.Src.Name),
			expr(s.SrcLo, 0), expr(s.N, 0))
	case *Sort:
		p.line("sort %s[%s : %s]", name(s.A.Name), expr(s.Lo, 0), expr(s.Hi, 0))
	case *SortBy:
		keys := make([]string, len(s.Keys))
		for i, k := range s.Keys {
			keys[i] = name(k.Name)
		}
		p.line("sortby %s[%s : %s] (%s)", name(s.Perm.Name), expr(s.Lo, 0), expr(s.Hi, 0),
			strings.Join(keys, ", "))
	case *Mark:
		p.line("mark %s[%s], %s, %s", name(s.Bits.Name), expr(s.At, 0), name(s.Words.Name),
			name(s.N.Name))
	case *Collect:
		p.line("collect %s[%s] = %s[%s], %s, %s, %s", name(s.List.Name), expr(s.Base, 0),
			name(s.Bits.Name), expr(s.Len, 0), name(s.Words.Name), name(s.Flags.Name), name(s.N.Name))
	case *Union:
		p.line("%s", s)
	case *AllocTable:
		p.line("alloctable %s %s[%s]", name(s.T.Name), s.T.Elem, expr(s.Len, 0))
	case *Keep:
		p.line("keep %s[%s] = %s", name(s.T.Name), expr(s.Index, 0), name(s.A.Name))
	case *Take:
		p.line("take %s %s = %s[%s]", name(s.A.Name), elem(s.A), name(s.T.Name), expr(s.Index, 0))
	case *FreeTable:
		p.line("freetable %s", name(s.T.Name))
	case *Gemm:
		p.line("%s", s)
	case *SpMM:
		p.line("%s", s)
	case *Call:
		p.line("%s", s.text())
	case *Publish:
		p.line("publish %s = %s, %s", s.Slot, name(s.A.Name), expr(s.Len, 0))
	case *Fail:
		p.line("fail %s(%s)", s.Code, exprs(s.Coord))
	case *Launch:
		p.line("launch %s[%s, %d] %s, %s {", name(s.Name), expr(s.Grid, 0), s.Threads, name(s.Block.Name),
			name(s.Thread.Name))
		p.block(s.Body)
		p.line("}")
	case *Shared:
		p.line("shared %s %s[%d]", name(s.A.Name), elem(s.A), s.Len)
	case *Barrier:
		if s.Warp {
			p.line("barrier warp")
		} else {
			p.line("barrier")
		}
	case *Shuffle:
		p.line("shuffle %s = %s, %d", name(s.V.Name), expr(s.X, 0), s.Mask)
	case *Scan:
		p.line("scan %s[%s : %s]", name(s.A.Name), expr(s.Lo, 0), expr(s.Hi, 0))
	default:
		panic(fmt.Sprintf("BUG: ir.Print: statement %T", s))
	}
}

func assignOp(accumulate bool) string {
	if accumulate {
		return "+="
	}
	return "="
}

func loopClauses(s *For) string {
	var b strings.Builder
	if s.Step != 1 {
		fmt.Fprintf(&b, " step %d", s.Step)
	}
	switch s.Kind {
	case Parallel:
		kind := "static"
		if s.Dynamic {
			kind = "dynamic"
		}
		switch {
		case s.Chunk != 0:
			fmt.Fprintf(&b, " parallel(%s, %d)", kind, s.Chunk)
		case s.Dynamic:
			b.WriteString(" parallel(dynamic)")
		default:
			b.WriteString(" parallel")
		}
	case Vector:
		b.WriteString(" vector")
		if s.Nontemporal {
			b.WriteString(" nontemporal")
		}
	case Blocks:
		b.WriteString(" blocks")
	case Warps:
		fmt.Fprintf(&b, " warps(%d)", s.Width)
	case Lanes:
		fmt.Fprintf(&b, " lanes(%d)", s.Width)
	case Unrolled:
		b.WriteString(" unrolled")
		if s.Factor != 0 {
			fmt.Fprintf(&b, "(%d)", s.Factor)
		}
	}
	if len(s.Reduce) > 0 {
		names := make([]string, len(s.Reduce))
		for i, v := range s.Reduce {
			names[i] = name(v.Name)
		}
		fmt.Fprintf(&b, " reduce(%s)", strings.Join(names, ", "))
	}
	return b.String()
}

func exprs(xs []Expr) string {
	list := make([]string, len(xs))
	for i, x := range xs {
		list[i] = expr(x, 0)
	}
	return strings.Join(list, ", ")
}

// precedence returns the precedence of a binary operator in the text form. It returns 0 for min and
// max, which are written as calls.
func precedence(op Op) int {
	switch op {
	case Or:
		return 1
	case And:
		return 2
	case Eq, Ne, Lt, Le:
		return 3
	case Add, Sub:
		return 4
	case Mul, Div, Rem:
		return 5
	}
	return 0
}

const unaryPrecedence = 6

// expr returns the text of x, in parentheses if its operator binds less tightly than prec.
func expr(x Expr, prec int) string {
	switch x := x.(type) {
	case *Var:
		return name(x.Name)
	case *Lit:
		return literal(x)
	case *Binary:
		own := precedence(x.Op)
		if own == 0 {
			return fmt.Sprintf("%s(%s, %s)", x.Op, expr(x.X, 0), expr(x.Y, 0))
		}
		left := own
		if x.Op.IsCompare() {
			left = own + 1
		}
		s := expr(x.X, left) + " " + x.Op.String() + " " + expr(x.Y, own+1)
		if own < prec {
			return "(" + s + ")"
		}
		return s
	case *Unary:
		operand := expr(x.X, unaryPrecedence)
		if _, lit := x.X.(*Lit); lit || strings.HasPrefix(operand, "-") {
			operand = "(" + operand + ")"
		}
		return x.Op.String() + operand
	case *Load:
		if x.Widen {
			return fmt.Sprintf("%s[%s:64]", name(x.A.Name), expr(x.Index, 0))
		}
		return fmt.Sprintf("%s[%s]", name(x.A.Name), expr(x.Index, 0))
	case *Cast:
		return fmt.Sprintf("%s(%s)", x.Typ, expr(x.X, 0))
	case *Select:
		return fmt.Sprintf("select(%s, %s, %s)", expr(x.Cond, 0), expr(x.X, 0), expr(x.Y, 0))
	case *Search:
		fn := "search"
		if x.Upper {
			fn = "searchupper"
		}
		return fmt.Sprintf("%s(%s, %s, %s, %s)", fn, name(x.A.Name), expr(x.Lo, 0), expr(x.Hi, 0),
			expr(x.Key, 0))
	}
	panic(fmt.Sprintf("BUG: ir.Print: expression %T", x))
}

// literal returns the text of a literal, which shows its type.
func literal(l *Lit) string {
	switch l.Typ {
	case tensor.Bool:
		return strconv.FormatBool(l.I != 0)
	case tensor.Int32:
		return strconv.FormatInt(l.I, 10) + "i32"
	case tensor.Int64:
		return strconv.FormatInt(l.I, 10)
	case tensor.Float32:
		return real64(real(l.C), 32) + "f"
	case tensor.Float64:
		return real64(real(l.C), 64)
	case tensor.Complex64:
		return fmt.Sprintf("complex64(%s, %s)", real64(real(l.C), 32), real64(imag(l.C), 32))
	case tensor.Complex128:
		return fmt.Sprintf("complex128(%s, %s)", real64(real(l.C), 64), real64(imag(l.C), 64))
	}
	return fmt.Sprintf("%s(%d)", l.Typ, l.I)
}

// real64 returns the shortest text that reads back as x. It always contains a point, an exponent or
// a word.
func real64(x float64, bits int) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case x != x:
		return "nan"
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
