package ir

import (
	"distaff/io/tensor"
	"strconv"
	"strings"
)

// Parse reads the text form that Print writes. An error names the line and column, what was found
// there and what was wanted. Parse does not verify the function.
func Parse(src string) (f *Func, err error) {
	p := &parser{lex: lexer{src: src}, names: map[string]any{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			f, err = nil, r.err
		default:
			panic(r)
		}
	}()
	p.advance()
	f = p.function()
	if p.tok.kind != tokEnd {
		p.failf("got %s after the function, want the end", p.tok)
	}
	return f, nil
}

type syntaxError struct{ err error }

type parser struct {
	lex   lexer
	tok   token
	names map[string]any // *Var, *Array or *Table
	depth int
}

func (p *parser) failf(format string, args ...any) {
	panic(syntaxError{p.lex.errorf(p.tok.pos, format, args...)})
}

func (p *parser) advance() {
	t, err := p.lex.next()
	if err != nil {
		panic(syntaxError{err})
	}
	p.tok = t
}

// is reports whether the next token is the given word or mark.
func (p *parser) is(text string) bool {
	return (p.tok.kind == tokMark || p.tok.kind == tokName) && p.tok.text == text
}

func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.failf("got %s, want %q", p.tok, text)
	}
}

// enter counts a level of nesting. It fails past a limit, which bounds the depth of recursion.
func (p *parser) enter() {
	p.depth++
	if p.depth > 2000 {
		p.failf("nested too deep")
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) name() string {
	t := p.tok
	if t.kind != tokQuoted && (t.kind != tokName || words[t.text]) {
		p.failf("got %s, want a name", t)
	}
	p.advance()
	return t.text
}

func (p *parser) typ() tensor.Type {
	t := typeByName(p.tok.text)
	if p.tok.kind != tokName || t == tensor.None {
		p.failf("got %s, want a type", p.tok)
	}
	p.advance()
	return t
}

// newVar returns the variable with this name. If an earlier scope declared it, newVar returns the
// same variable.
func (p *parser) newVar(name string, t tensor.Type) *Var {
	switch old := p.names[name].(type) {
	case nil:
	case *Var:
		if old.Typ == t {
			return old
		}
		p.failf("%s is of type %s here and %s before", name, t, old.Typ)
	default:
		p.failf("%s is no variable", name)
	}
	v := NewVar(name, t)
	p.names[name] = v
	return v
}

func (p *parser) newArray(name string, t tensor.Type, constant bool) *Array {
	switch old := p.names[name].(type) {
	case nil:
	case *Array:
		if old.Elem == t && old.Const == constant {
			return old
		}
		p.failf("array %s differs from the one before", name)
	default:
		p.failf("%s is no array", name)
	}
	a := &Array{Name: name, Elem: t, Const: constant}
	p.names[name] = a
	return a
}

func (p *parser) oldVar() *Var {
	name := p.name()
	v, ok := p.names[name].(*Var)
	if !ok {
		p.failf("%s is no variable", name)
	}
	return v
}

func (p *parser) oldArray() *Array {
	name := p.name()
	a, ok := p.names[name].(*Array)
	if !ok {
		p.failf("%s is no array", name)
	}
	return a
}

func (p *parser) function() *Func {
	p.expect("func")
	f := &Func{Name: p.name()}
	for p.accept("param") {
		f.Params = append(f.Params, p.param())
	}
	for p.accept("bounds") {
		f.Bounds = append(f.Bounds, [2]*Var{p.headVar(), p.headVar()})
	}
	if p.accept("threads") {
		f.Threads = p.headVar()
	}
	if p.tok.kind != tokEnd {
		f.Body = p.block()
	}
	return f
}

// headVar reads the name of an Int64 variable. If the name is _, it returns nil.
func (p *parser) headVar() *Var {
	if p.accept("_") {
		return nil
	}
	return p.newVar(p.name(), tensor.Int64)
}

func (p *parser) param() Param {
	if p.accept("_") {
		p.expect("=")
		return Param{Slot: p.slot()}
	}
	name := p.name()
	if p.accept("=") {
		return Param{Slot: p.slot(), V: p.newVar(name, tensor.Int64)}
	}
	t := p.typ()
	a := p.newArray(name, t, p.accept("const"))
	p.expect("=")
	return Param{Slot: p.slot(), A: a}
}

// numbered reads a word such as t3 or level0 and returns the number after its prefix.
func (p *parser) numbered(prefix string) int {
	digits, ok := strings.CutPrefix(p.tok.text, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || p.tok.kind != tokName {
		p.failf("got %s, want %s and a number", p.tok, prefix)
	}
	p.advance()
	return n
}

func (p *parser) slot() Slot {
	s := Slot{Arg: p.numbered("t")}
	p.expect(".")
	if strings.HasPrefix(p.tok.text, "level") {
		s.Level = p.numbered("level")
		p.expect(".")
	}
	for part := Pos; part <= End; part++ {
		if p.accept(part.String()) {
			s.Field = part
			return s
		}
	}
	p.failf("got %s, want a part of a tensor", p.tok)
	return s
}

func (p *parser) block() *Block {
	p.enter()
	defer p.leave()
	p.expect("{")
	b := &Block{}
	for !p.accept("}") {
		b.List = append(b.List, p.stmt())
	}
	return b
}

func (p *parser) int() int64 {
	n, err := strconv.ParseInt(p.tok.text, 10, 64)
	if p.tok.kind != tokNumber || err != nil {
		p.failf("got %s, want an integer", p.tok)
	}
	p.advance()
	return n
}

func (p *parser) stmt() Stmt {
	switch {
	case p.tok.kind == tokComment:
		return p.comment()
	case p.is("{"):
		return p.block()
	case p.accept("var"):
		name := p.name()
		t := p.typ()
		p.expect("=")
		init := p.expr()
		return &Declare{V: p.newVar(name, t), Init: init}
	case p.accept("for"):
		return p.loop()
	case p.accept("while"):
		cond := p.expr()
		return &While{Cond: cond, Body: p.block()}
	case p.accept("if"):
		s := &If{Cond: p.expr(), Then: p.block()}
		if p.accept("else") {
			s.Else = p.block()
		}
		return s
	case p.accept("ordered"):
		return &Ordered{Body: p.block()}
	case p.accept("publish"):
		s := &Publish{Slot: p.slot()}
		p.expect("=")
		s.A = p.oldArray()
		p.expect(",")
		s.Len = p.expr()
		return s
	case p.accept("fail"):
		return p.fail()
	case p.accept("atomic"):
		s, ok := p.simple().(*Store)
		if !ok {
			p.failf("atomic stands before a store only")
		}
		s.Atomic = true
		return s
	}
	if s := p.memory(); s != nil {
		return s
	}
	if s := p.gpu(); s != nil {
		return s
	}
	return p.simple()
}

func (p *parser) comment() Stmt {
	text := p.tok.text
	p.advance()
	for p.tok.kind == tokMore {
		text += "\n" + p.tok.text
		p.advance()
	}
	return &Comment{Text: text}
}

// memory reads a statement about a whole array or a range. It returns nil if no such statement is
// next.
func (p *parser) memory() Stmt {
	switch {
	case p.accept("alloc"):
		name, t := p.name(), p.typ()
		constant := p.accept("const")
		p.expect("[")
		n := p.expr()
		p.expect("]")
		zero := p.accept("zero")
		return &Alloc{A: p.newArray(name, t, constant), Len: n, Zero: zero}
	case p.accept("local"):
		name, t := p.name(), p.typ()
		constant := p.accept("const")
		p.expect("[")
		n, ok := p.expr().(*Lit)
		if !ok || n.Typ != tensor.Int64 {
			p.failf("the length of a local array is no int64 literal")
		}
		p.expect("]")
		undefined := p.accept("undefined")
		return &Local{A: p.newArray(name, t, constant), Len: n.I, Undefined: undefined}
	case p.accept("prefetch"):
		s := &Prefetch{A: p.oldArray()}
		p.expect("[")
		s.Index = p.expr()
		p.expect("]")
		if p.accept(",") {
			s.Len = p.int()
		}
		s.Far = p.accept("far")
		return s
	case p.accept("grow"):
		s := &Grow{A: p.oldArray()}
		p.expect(",")
		s.Cap = p.oldVar()
		p.expect(",")
		s.Need = p.expr()
		return s
	case p.accept("free"):
		return &Free{A: p.oldArray()}
	case p.accept("fill"):
		s := &Fill{A: p.oldArray()}
		s.Lo, s.Hi = p.span()
		p.expect("=")
		s.X = p.expr()
		return s
	case p.is("copy"), p.is("stream"):
		s := &Copy{Stream: p.accept("stream")}
		if !s.Stream {
			p.expect("copy")
		}
		s.Dst = p.oldArray()
		s.DstLo = p.index()
		p.expect("=")
		s.Src = p.oldArray()
		s.SrcLo = p.index()
		p.expect(",")
		s.N = p.expr()
		return s
	case p.accept("gemm"):
		return p.gemm()
	case p.accept("spmm"):
		return p.spmm()
	case p.accept("call"):
		return p.call()
	case p.accept("sort"):
		s := &Sort{A: p.oldArray()}
		s.Lo, s.Hi = p.span()
		return s
	}
	return p.bits()
}

// bits reads a statement about bitmaps, or one that table reads. It returns nil if no such
// statement is next.
func (p *parser) bits() Stmt {
	switch {
	case p.accept("mark"):
		s := &Mark{Bits: p.oldArray()}
		s.At = p.index()
		p.expect(",")
		s.Words = p.oldArray()
		p.expect(",")
		s.N = p.oldVar()
		return s
	case p.accept("collect"):
		s := &Collect{List: p.oldArray()}
		s.Base = p.index()
		p.expect("=")
		s.Bits = p.oldArray()
		s.Len = p.index()
		p.expect(",")
		s.Words = p.oldArray()
		p.expect(",")
		s.Flags = p.oldArray()
		p.expect(",")
		s.N = p.oldVar()
		return s
	case p.accept("union"):
		return p.union()
	}
	return p.table()
}

// table reads a statement about tables, or a sortby. It returns nil if no such statement is next.
func (p *parser) table() Stmt {
	switch {
	case p.accept("sortby"):
		s := &SortBy{Perm: p.oldArray()}
		s.Lo, s.Hi = p.span()
		p.expect("(")
		for !p.accept(")") {
			if len(s.Keys) > 0 {
				p.expect(",")
			}
			s.Keys = append(s.Keys, p.oldArray())
		}
		return s
	case p.accept("alloctable"):
		name, t := p.name(), p.typ()
		return &AllocTable{Len: p.index(), T: p.newTable(name, t)}
	case p.accept("keep"):
		s := &Keep{T: p.oldTable()}
		s.Index = p.index()
		p.expect("=")
		s.A = p.oldArray()
		return s
	case p.accept("take"):
		name, t := p.name(), p.typ()
		s := &Take{A: p.newArray(name, t, p.accept("const"))}
		p.expect("=")
		s.T = p.oldTable()
		s.Index = p.index()
		return s
	case p.accept("freetable"):
		return &FreeTable{T: p.oldTable()}
	}
	return nil
}

func (p *parser) newTable(name string, t tensor.Type) *Table {
	switch old := p.names[name].(type) {
	case nil:
	case *Table:
		if old.Elem == t {
			return old
		}
		p.failf("table %s differs from the one before", name)
	default:
		p.failf("%s is no table", name)
	}
	x := &Table{Name: name, Elem: t}
	p.names[name] = x
	return x
}

func (p *parser) oldTable() *Table {
	name := p.name()
	t, ok := p.names[name].(*Table)
	if !ok {
		p.failf("%s is no table", name)
	}
	return t
}

func (p *parser) span() (lo, hi Expr) {
	p.expect("[")
	lo = p.expr()
	p.expect(":")
	hi = p.expr()
	p.expect("]")
	return lo, hi
}

func (p *parser) index() Expr {
	p.expect("[")
	x := p.expr()
	p.expect("]")
	return x
}

func (p *parser) fail() Stmt {
	s := &Fail{}
	for c := FailMemory; c <= FailPattern; c++ {
		if p.is(c.String()) {
			s.Code = c
		}
	}
	if s.Code == OK {
		p.failf("got %s, want the name of a failure", p.tok)
	}
	p.advance()
	p.expect("(")
	for !p.accept(")") {
		if len(s.Coord) > 0 {
			p.expect(",")
		}
		s.Coord = append(s.Coord, p.expr())
	}
	return s
}

// simple reads an assignment or a store.
func (p *parser) simple() Stmt {
	name := p.name()
	switch object := p.names[name].(type) {
	case *Var:
		add := p.assignOp()
		return &Assign{V: object, Accumulate: add, X: p.expr()}
	case *Array:
		s := &Store{A: object}
		s.Index = p.index()
		s.Accumulate = p.assignOp()
		s.X = p.expr()
		return s
	}
	p.failf("%s is neither a variable nor an array", name)
	return nil
}

func (p *parser) assignOp() (add bool) {
	if p.accept("+=") {
		return true
	}
	p.expect("=")
	return false
}

func (p *parser) loop() Stmt {
	s := &For{V: p.newVar(p.name(), tensor.Int64), Step: 1}
	p.expect("in")
	s.Lo = p.expr()
	p.expect(":")
	s.Hi = p.expr()
	if p.accept("step") {
		s.Step = p.int()
	}
	switch {
	case p.accept("parallel"):
		s.Kind = Parallel
		if p.accept("(") {
			if s.Dynamic = p.accept("dynamic"); !s.Dynamic {
				p.expect("static")
			}
			if p.accept(",") {
				s.Chunk = p.int()
			}
			p.expect(")")
		}
	case p.accept("vector"):
		s.Kind = Vector
		s.Nontemporal = p.accept("nontemporal")
	case p.accept("unrolled"):
		s.Kind = Unrolled
		if p.accept("(") {
			s.Factor = p.int()
			p.expect(")")
		}
	default:
		p.gpuLoop(s)
	}
	if p.accept("reduce") {
		p.expect("(")
		for !p.accept(")") {
			if len(s.Reduce) > 0 {
				p.expect(",")
			}
			s.Reduce = append(s.Reduce, p.oldVar())
		}
	}
	s.Body = p.block()
	return s
}
