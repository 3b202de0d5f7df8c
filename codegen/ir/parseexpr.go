package ir

import (
	"distaff/codegen/algebra"
	"distaff/io/tensor"
	"math"
	"strconv"
	"strings"
)

// levels lists the binary operators by precedence, the loosest first.
var levels = [][]Op{{Or}, {And}, {Eq, Ne, Lt, Le}, {Add, Sub}, {Mul, Div, Rem, BitAnd}}

func (p *parser) expr() Expr { return p.binary(0) }

func (p *parser) binary(level int) Expr {
	if level == len(levels) {
		return p.unary()
	}
	p.enter()
	defer p.leave()
	x := p.binary(level + 1)
	for {
		op, ok := p.binaryOp(level)
		if !ok {
			return x
		}
		x = &Binary{Op: op, X: x, Y: p.binary(level + 1)}
		if op.IsCompare() {
			return x
		}
	}
}

func (p *parser) binaryOp(level int) (Op, bool) {
	if p.tok.kind != tokMark {
		return 0, false
	}
	for _, op := range levels[level] {
		if p.accept(op.String()) {
			return op, true
		}
	}
	return 0, false
}

func (p *parser) unary() Expr {
	p.enter()
	defer p.leave()
	switch {
	case p.accept("!"):
		return &Unary{Op: Not, X: p.unary()}
	case p.is("-"):
		p.advance()
		if p.tok.kind == tokNumber || p.is("inf") || p.is("inff") {
			return p.number(true)
		}
		return &Unary{Op: Neg, X: p.unary()}
	}
	return p.primary()
}

func (p *parser) primary() Expr {
	switch {
	case p.tok.kind == tokNumber, p.is("inf"), p.is("inff"), p.is("nan"), p.is("nanf"):
		return p.number(false)
	case p.accept("("):
		x := p.expr()
		p.expect(")")
		return x
	case p.accept("true"):
		return Truth(true)
	case p.accept("false"):
		return Truth(false)
	case p.is("min"), p.is("max"):
		op := Min
		if p.tok.text == "max" {
			op = Max
		}
		p.advance()
		x := p.args(2)
		return &Binary{Op: op, X: x[0], Y: x[1]}
	case p.accept("select"):
		x := p.args(3)
		return &Select{Cond: x[0], X: x[1], Y: x[2]}
	case p.accept("apply"):
		p.expect("(")
		x := &Apply{Func: algebra.Find(p.tok.text)}
		if x.Func == nil {
			p.failf("got %s, want the name of a function", p.tok)
			return x
		}
		p.advance()
		p.expect(",")
		x.X = p.expr()
		if x.Func.Args == 2 {
			p.expect(",")
			x.Y = p.expr()
		}
		p.expect(")")
		return x
	case p.is("search"), p.is("searchupper"):
		s := &Search{Upper: p.tok.text == "searchupper"}
		p.advance()
		p.expect("(")
		s.A = p.oldArray()
		p.expect(",")
		s.Lo = p.expr()
		p.expect(",")
		s.Hi = p.expr()
		p.expect(",")
		s.Key = p.expr()
		p.expect(")")
		return s
	case p.tok.kind == tokName && typeByName(p.tok.text) != tensor.None:
		return p.cast()
	}
	return p.named()
}

// args reads a list of n expressions in parentheses.
func (p *parser) args(n int) []Expr {
	p.expect("(")
	list := make([]Expr, n)
	for i := range list {
		if i > 0 {
			p.expect(",")
		}
		list[i] = p.expr()
	}
	p.expect(")")
	return list
}

// cast reads T(x), or a literal complex64(re, im) or complex128(re, im).
func (p *parser) cast() Expr {
	t := p.typ()
	p.expect("(")
	x := p.expr()
	if t.IsComplex() && p.accept(",") {
		re, okr := x.(*Lit)
		im, oki := p.expr().(*Lit)
		if !okr || !oki || re.Typ != tensor.Float64 || im.Typ != tensor.Float64 {
			p.failf("a literal of type %s must have two float64 literals as its parts", t)
		}
		p.expect(")")
		return &Lit{Typ: t, C: rounded(t, complex(real(re.C), real(im.C)))}
	}
	p.expect(")")
	return &Cast{Typ: t, X: x}
}

func (p *parser) named() Expr {
	name := p.name()
	switch object := p.names[name].(type) {
	case *Var:
		return object
	case *Array:
		p.expect("[")
		l := &Load{A: object, Index: p.expr()}
		if p.accept(":") {
			if n := p.int(); n != 64 {
				p.failf("got a load of %d bits, want 64", n)
			}
			l.Widen = true
		}
		p.expect("]")
		return l
	}
	p.failf("%s is neither a variable nor an array", name)
	return nil
}

// number reads a literal. Its suffix and its shape determine its type.
func (p *parser) number(negative bool) Expr {
	text := p.tok.text
	sign := ""
	if negative {
		sign = "-"
	}
	bad := func() { p.failf("got %s, want a number", p.tok) }
	l := &Lit{}
	digits, is32 := strings.CutSuffix(text, "i32")
	single, isFloat32 := strings.CutSuffix(text, "f")
	switch {
	case text == "nan" || text == "nanf":
		l.Typ, l.C = tensor.Float64, complex(math.NaN(), 0)
		if text == "nanf" {
			l.Typ = tensor.Float32
		}
	case is32:
		n, err := strconv.ParseInt(sign+digits, 10, 32)
		if err != nil {
			bad()
		}
		l.Typ, l.I = tensor.Int32, n
	case isFloat32 && text != "inf":
		x, err := strconv.ParseFloat(sign+single, 32)
		if err != nil {
			bad()
		}
		l.Typ, l.C = tensor.Float32, complex(x, 0)
	case strings.ContainsAny(text, ".ein"):
		x, err := strconv.ParseFloat(sign+text, 64)
		if err != nil {
			bad()
		}
		l.Typ, l.C = tensor.Float64, complex(x, 0)
	default:
		n, err := strconv.ParseInt(sign+text, 10, 64)
		if err != nil {
			bad()
		}
		l.Typ, l.I = tensor.Int64, n
	}
	p.advance()
	return l
}
