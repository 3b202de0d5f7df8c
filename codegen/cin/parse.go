package cin

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/codegen/ir"
)

// Parse reads the text form that String and Pretty write. Errors give the byte
// offset of what was found.
func Parse(src string) (s Stmt, err error) {
	p := &parser{src: src}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxError:
			s, err = nil, e
		default:
			panic(e)
		}
	}()
	p.next()
	s = p.stmt()
	if p.tok != "" {
		p.fail("the end")
	}
	return s, nil
}

type syntaxError struct {
	at        int
	got, want string
}

func (e syntaxError) Error() string {
	got := fmt.Sprintf("%q", e.got)
	if e.got == "" {
		got = "the end"
	}
	return fmt.Sprintf("concrete index notation: byte %d: got %s, want %s", e.at, got, e.want)
}

type parser struct {
	src string
	at  int    // where tok starts
	end int    // where it ends
	tok string // "" at the end
}

func (p *parser) fail(want string) { panic(syntaxError{p.at, p.tok, want}) }

func isName(c byte) bool {
	return c == '_' || c == '\'' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// next reads a token: a name, a number, "+=" or one character.
func (p *parser) next() {
	for p.end < len(p.src) && strings.IndexByte(" \t\n", p.src[p.end]) >= 0 {
		p.end++
	}
	p.at = p.end
	if p.at == len(p.src) {
		p.tok = ""
		return
	}
	switch c := p.src[p.at]; {
	case c >= '0' && c <= '9' || c == '.':
		p.number()
	case isName(c):
		for p.end < len(p.src) && isName(p.src[p.end]) {
			p.end++
		}
	case strings.HasPrefix(p.src[p.at:], "+="):
		p.end += 2
	default:
		p.end++
	}
	p.tok = p.src[p.at:p.end]
}

// number moves past digits, a point and an exponent.
func (p *parser) number() {
	for p.end < len(p.src) {
		c := p.src[p.end]
		sign := (c == '+' || c == '-') && (p.src[p.end-1] == 'e' || p.src[p.end-1] == 'E')
		if !(c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || sign) {
			return
		}
		p.end++
	}
}

func (p *parser) accept(tok string) bool {
	if p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(tok string) {
	if !p.accept(tok) {
		p.fail(fmt.Sprintf("%q", tok))
	}
}

func (p *parser) name() string {
	if p.tok == "" || !isName(p.tok[0]) || p.tok[0] >= '0' && p.tok[0] <= '9' {
		p.fail("a name")
	}
	name := p.tok
	p.next()
	return name
}

func (p *parser) stmt() Stmt {
	name := p.name()
	if p.tok == "(" {
		switch name {
		case "forall":
			return p.forall()
		case "where":
			p.next()
			consumer := p.stmt()
			p.expect(",")
			producer := p.stmt()
			p.expect(")")
			return &Where{Consumer: consumer, Producer: producer}
		case "seq":
			p.next()
			s := &Seq{List: []Stmt{p.stmt()}}
			for p.accept(",") {
				s.List = append(s.List, p.stmt())
			}
			p.expect(")")
			return s
		}
	}
	s := &Assign{LHS: p.access(name)}
	if s.Accumulate = p.accept("+="); !s.Accumulate {
		p.expect("=")
	}
	s.RHS = p.sum()
	return s
}

func (p *parser) forall() Stmt {
	p.expect("(")
	f := &Forall{Var: p.name()}
	p.expect(",")
	if p.accept("CPUThread") {
		f.Unit = CPUThread
		p.expect(",")
	}
	f.Body = p.stmt()
	p.expect(")")
	return f
}

func (p *parser) access(name string) *Access {
	a := &Access{Name: name}
	if !p.accept("(") {
		return a
	}
	a.Vars = append(a.Vars, p.name())
	for p.accept(",") {
		a.Vars = append(a.Vars, p.name())
	}
	p.expect(")")
	return a
}

func (p *parser) sum() Expr {
	x := p.product()
	for p.tok == "+" || p.tok == "-" {
		op := p.tok[0]
		p.next()
		x = &Binary{Op: op, X: x, Y: p.product()}
	}
	return x
}

func (p *parser) product() Expr {
	x := p.factor()
	for p.tok == "*" || p.tok == "/" {
		op := p.tok[0]
		p.next()
		x = &Binary{Op: op, X: x, Y: p.factor()}
	}
	return x
}

func (p *parser) factor() Expr {
	switch {
	case p.accept("-"):
		return &Neg{X: p.factor()}
	case p.accept("("):
		x := p.sum()
		p.expect(")")
		return x
	case p.tok != "" && (p.tok[0] >= '0' && p.tok[0] <= '9' || p.tok[0] == '.'):
		return p.literal()
	}
	return p.access(p.name())
}

func (p *parser) literal() Expr {
	text := p.tok
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		p.next()
		return Number(text, ir.Int(i))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail("a number")
	}
	p.next()
	return Number(text, ir.Number(ir.Float64, complex(f, 0)))
}
