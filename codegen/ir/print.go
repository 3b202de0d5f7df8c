package ir

import (
	"distaff/io/tensor"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Print returns f in the text form, which Parse reads back:
//
//	func spmv
//	  param y float64 = t0.vals
//	  param x float64 const = t2.vals
//	  param pos int32 const = t1.level1.pos
//	  param crd int32 const = t1.level1.crd
//	  param vals float64 const = t1.vals
//	  param n = t1.level0.size
//	  bounds ilo ihi
//	  threads T
//	{
//	  for i in max(ilo, 0) : min(ihi, n) parallel(dynamic, 16) {
//	    var s float64 = 0.0
//	    for p in pos[i:64] : pos[i + 1:64] {
//	      s += vals[p] * x[crd[p:64]]
//	    }
//	    y[i] = s
//	  }
//	}
//
// A load A[i:64] widens to Int64. The shape of a literal shows its type: 5 and 5i32, 1.5 and 1.5f,
// complex128(1.0, 2.0). The first line of a comment starts with # and a space, and its further
// lines with #| and a space. A name is quoted, as in @"for", if it is not an identifier or is a
// reserved word.
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
func (x *Apply) String() string  { return PrintExpr(x) }
func (x *Search) String() string { return PrintExpr(x) }

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

// stmt writes a statement and its lines.
func (p *printer) stmt(s Stmt) {
	if s, ok := s.(*Comment); ok {
		p.line("# %s", strings.ReplaceAll(s.Text, "\n", "\n"+strings.Repeat("  ", p.depth)+"#| "))
		return
	}
	p.text(strings.Repeat("  ", p.depth))
	s.row(&Row{writer: p})
	p.text("\n")
}

func (p *printer) text(s string) { p.b.WriteString(s) }

// form writes a part of a row.
func (p *printer) form(form string, operands []Operand) {
	for _, o := range operands {
		before, after, _ := strings.Cut(form, "%")
		p.text(before)
		p.operand(o)
		form = after
	}
	p.text(form)
}

// operand writes an operand of a row.
func (p *printer) operand(o Operand) {
	switch at := o.at.(type) {
	case *Expr:
		prec := 0
		if o.Role == Scales {
			prec = unaryPrecedence
		}
		p.text(expr(*at, prec))
	case **Array:
		p.text(name((*at).Name))
		if o.Role.Makes() {
			p.text(" " + elem(*at))
		}
	case **Table:
		p.text(name((*at).Name))
		if o.Role == Makes {
			p.text(" " + (*at).Elem.String())
		}
	case **Var:
		p.text(name((*at).Name))
		if o.Role == Declares && o.typ == tensor.None {
			p.text(" " + (*at).Typ.String())
		}
	case *bool:
		set, clear, _ := strings.Cut(o.text, "|")
		if *at {
			p.text(set)
		} else {
			p.text(clear)
		}
	case *int64:
		if o.text == "" || *at > int64(o.least) {
			p.text(o.text + strconv.FormatInt(*at, 10))
		}
	case *string:
		p.text(name(*at))
	case *Slot:
		p.text(at.String())
	case *FailCode:
		p.text(at.String())
	case *Block:
		p.braces(at)
	case **Block:
		if *at != nil {
			p.text(o.text)
			p.braces(*at)
		}
	default:
		panic(fmt.Sprintf("BUG: ir.Print: operand %T", at))
	}
}

// braces writes a block in braces.
func (p *printer) braces(b *Block) {
	p.text("{\n")
	p.block(b)
	p.text(strings.Repeat("  ", p.depth) + "}")
}

// precedence returns the precedence of a binary operator in the text form. It returns 0 for min and
// max, which are written as calls.
func precedence(op Op) int {
	return 1 + slices.IndexFunc(levels, func(ops []Op) bool { return slices.Contains(ops, op) })
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
	case *Apply:
		text := "apply(" + x.Func.Name + ", " + expr(x.X, 0)
		if x.Y != nil {
			text += ", " + expr(x.Y, 0)
		}
		return text + ")"
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
// a word, so that it is not read as an integer.
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
