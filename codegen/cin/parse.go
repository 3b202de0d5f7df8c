package cin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// Parse reads the text that String and Pretty write. It cannot read this text if the target of an
// assignment has index variables and is named forall, where or seq. A syntax error names its byte
// offset.
func Parse(text string) (Stmt, error) {
	p := &parser{text: text}
	p.next()
	s := p.stmt(true)
	if p.err == nil && p.tok != "" {
		p.fail("the end of the statement")
	}
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// parser reads a statement token by token. After the first error it skips the rest of the text.
type parser struct {
	text    string
	at, pos int    // the offsets of tok's end and start
	tok     string // the current token; "" at the end of the text
	err     error
}

// blanks are the characters that may separate tokens.
const blanks = " \t\r\n"

func wordByte(c byte) bool {
	return c == '_' || c == '\'' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z'
}

func (p *parser) next() {
	for p.at < len(p.text) && strings.IndexByte(blanks, p.text[p.at]) >= 0 {
		p.at++
	}
	p.pos = p.at
	if p.at == len(p.text) {
		p.tok = ""
		return
	}
	p.at++
	switch {
	case wordByte(p.text[p.pos]):
		number := '0' <= p.text[p.pos] && p.text[p.pos] <= '9' || p.text[p.pos] == '.'
		for p.at < len(p.text) && (wordByte(p.text[p.at]) ||
			number && strings.IndexByte("+-", p.text[p.at]) >= 0 &&
				strings.IndexByte("eE", p.text[p.at-1]) >= 0) {
			p.at++
		}
	case p.text[p.pos] == '+' && p.at < len(p.text) && p.text[p.at] == '=':
		p.at++
	}
	p.tok = p.text[p.pos:p.at]
}

func (p *parser) fail(want string) {
	if p.err == nil {
		got := strconv.Quote(p.tok)
		if p.tok == "" {
			got = "the end"
		}
		p.err = fmt.Errorf("concrete index notation: byte %d: got %s, want %s", p.pos, got, want)
	}
	p.tok, p.at = "", len(p.text)
}

// take advances past tok and returns true if it is the current token.
func (p *parser) take(tok string) bool {
	if p.tok == tok && p.err == nil {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(tok string) {
	if !p.take(tok) {
		p.fail(strconv.Quote(tok))
	}
}

func (p *parser) name() string {
	if p.tok == "" || !wordByte(p.tok[0]) || '0' <= p.tok[0] && p.tok[0] <= '9' {
		p.fail("a name")
		return ""
	}
	s := p.tok
	p.next()
	return s
}

func (p *parser) number() int64 {
	n, err := strconv.ParseInt(p.tok, 10, 64)
	if err != nil {
		p.fail("a whole number")
		return 0
	}
	p.next()
	return n
}

// opens reports whether a node with the given name begins here. If so, it advances past the name
// and the opening parenthesis. A tensor may have the name of a node. If an assignment operator
// follows the closing parenthesis, the text is an assignment to the tensor, and opens returns
// false.
func (p *parser) opens(node string) bool {
	rest := strings.TrimLeft(p.text[p.at:], blanks)
	if p.tok != node || !strings.HasPrefix(rest, "(") {
		return false
	}
	if k := strings.IndexAny(rest[1:], "()"); k >= 0 && rest[1+k] == ')' {
		if assigns(strings.TrimLeft(rest[k+2:], blanks)) {
			return false
		}
	}
	p.next()
	p.next()
	return true
}

// assigns reports whether text begins with an assignment operator.
func assigns(text string) bool {
	return strings.HasPrefix(text, "=") || strings.HasPrefix(text, "+=") || reductionOf(text) != nil
}

// reductionOf returns the reduction OP if text begins with OP=, or nil.
func reductionOf(text string) *algebra.Reduction {
	name, _, ok := strings.Cut(text, "=")
	if !ok {
		return nil
	}
	return algebra.FindReduction(name)
}

func (p *parser) stmt(outermost bool) Stmt {
	switch {
	case outermost && p.opens("suchthat"):
		s := &SuchThat{Body: p.stmt(false), Relations: &provenance.Graph{}}
		for p.take(",") {
			if p.opens("assemble") {
				p.inserts(s)
				continue
			}
			g, err := s.Relations.With(p.relation())
			if err != nil {
				if p.err == nil {
					p.err = err
				}
				return s
			}
			s.Relations = g
		}
		p.expect(")")
		return s
	case p.opens("forall"):
		return p.forall()
	case p.opens("span"):
		return p.span()
	case p.opens("chunks"):
		s := &Chunks{Pos: p.nameOf()}
		s.PerThread = p.number()
		p.expect(",")
		s.Body = p.last()
		return s
	case p.opens("positions"):
		return &Positions{Pos: p.nameOf(), Body: p.last()}
	case p.opens("coord"):
		return &Coord{Var: p.nameOf(), Pos: p.nameOf(), Body: p.last()}
	case p.opens("at"):
		return &At{Pos: p.nameOf(), Body: p.last()}
	case p.opens("where"):
		s := &Where{Consumer: p.stmt(false)}
		p.expect(",")
		s.Producer = p.stmt(false)
		p.expect(")")
		return s
	case p.opens("seq"):
		s := &Seq{List: []Stmt{p.stmt(false)}}
		for p.take(",") {
			s.List = append(s.List, p.stmt(false))
		}
		p.expect(")")
		return s
	}
	a := &Assign{LHS: p.access()}
	switch {
	case p.take("+="):
		a.Accumulate = true
	case p.take("="):
	case reductionOf(p.text[p.pos:]) != nil:
		a.Op = reductionOf(p.text[p.pos:])
		p.next()
		p.expect("=")
	default:
		p.fail(`"=" or "+="`)
	}
	a.RHS = p.expr(1)
	return a
}

// nameOf reads a name and the comma after it.
func (p *parser) nameOf() string {
	s := p.name()
	p.expect(",")
	return s
}

// last reads the only statement inside a node, and the closing parenthesis.
func (p *parser) last() Stmt {
	s := p.stmt(false)
	p.expect(")")
	return s
}

func (p *parser) span() Stmt {
	s := &Span{Pos: p.nameOf(), Levels: []string{p.name()}}
	for p.tok != "," && p.err == nil {
		s.Levels = append(s.Levels, p.name())
	}
	p.expect(",")
	s.Access = p.access()
	p.expect(",")
	s.Body = p.last()
	return s
}

func (p *parser) forall() Stmt {
	f := &Forall{Var: p.nameOf()}
	if p.notes(unitNames[1:]...) {
		f.Unit = Unit(slices.Index(unitNames[:], p.tok))
		p.next()
		if p.take("/") {
			race, ok := RaceByName(p.tok)
			if !ok {
				p.fail("a race strategy")
			}
			f.Race = race
			p.next()
		}
		if p.take("/") {
			f.Chunk = p.number()
		}
		p.expect(",")
	}
	f.Cut = p.cut()
	if p.notes("unroll") {
		p.next()
		f.Unroll = AllIterations
		if p.tok != "," {
			f.Unroll = p.number()
		}
		p.expect(",")
	}
	if p.notes("gallop") {
		p.next()
		f.Gallop = true
		p.expect(",")
	}
	f.Body = p.last()
	return f
}

// notes reports whether the current token is one of words and is a note on a loop. A tensor may
// have the same name as a note: if =, += or ( follows the token, it is not a note.
func (p *parser) notes(words ...string) bool {
	for _, w := range words {
		if p.tok != w {
			continue
		}
		rest := strings.TrimLeft(p.text[p.at:], blanks)
		return !assigns(rest) && !strings.HasPrefix(rest, "(")
	}
	return false
}

// inserts reads the rest of "assemble(C, Insert)", where C must be the target of s, and sets
// s.Insert.
func (p *parser) inserts(s *SuchThat) {
	if p.err == nil {
		p.expect(Target(s).Name)
		p.expect(",")
		p.expect("Insert")
		p.expect(")")
	}
	s.Insert = true
}

func (p *parser) relation() provenance.Relation {
	r := provenance.Relation{}
	kind := p.name()
	p.expect("(")
	list := func(n int) (out []string) {
		for k := range n {
			if k > 0 {
				p.expect(",")
			}
			out = append(out, p.name())
		}
		return out
	}
	from, to := 1, 1
	switch kind {
	case "split", "divide":
		r.Kind, to = provenance.Split, 2
		if kind == "divide" {
			r.Kind = provenance.Divide
		}
	case "fuse":
		r.Kind, from = provenance.Fuse, 2
	case "pos":
		r.Kind = provenance.Pos
	case "coord":
		r.Kind = provenance.Coord
	case "bound":
		r.Kind = provenance.Bound
	case "precompute":
		r.Kind = provenance.Precompute
	default:
		p.fail("a relation")
	}
	names := list(from + to)
	if p.err != nil {
		return r
	}
	r.From, r.To = names[:from], names[from:]
	switch r.Kind {
	case provenance.Split, provenance.Divide:
		p.expect(",")
		r.N = p.number()
	case provenance.Pos:
		p.expect(",")
		r.Access = p.access().Key()
	case provenance.Bound:
		p.expect(",")
		r.N = p.number()
		p.expect(",")
		b, ok := provenance.BoundByName(p.tok)
		if !ok {
			p.fail("a kind of bound")
		}
		r.Bound = b
		p.next()
	}
	p.expect(")")
	return r
}

func (p *parser) access() *Access {
	a := &Access{Name: p.name()}
	if p.take("(") {
		for {
			a.Vars = append(a.Vars, p.name())
			if !p.take(",") {
				break
			}
		}
		p.expect(")")
	}
	return a
}

// expr reads an expression whose operators have at least the given precedence: 1 for + and -, 2 for
// * and /, 3 for a single operand.
func (p *parser) expr(prec int) Expr {
	if prec == 3 {
		return p.alone()
	}
	var x Expr
	if prec == 2 && p.take("-") {
		x = &Neg{X: p.expr(3)}
	} else {
		x = p.expr(prec + 1)
	}
	for {
		op := p.tok
		if !(prec == 1 && (op == "+" || op == "-") || prec == 2 && (op == "*" || op == "/")) ||
			p.err != nil {
			return x
		}
		p.next()
		x = &Binary{Op: op[0], X: x, Y: p.expr(prec + 1)}
	}
}

// alone reads a single operand: a parenthesized expression, a number, a call or an access.
func (p *parser) alone() Expr {
	switch {
	case p.take("("):
		x := p.expr(1)
		p.expect(")")
		return x
	case p.tok != "" && ('0' <= p.tok[0] && p.tok[0] <= '9' || p.tok[0] == '.'):
		text := p.tok
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			p.next()
			return Number(text, ir.Int(n))
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fail("a number")
		}
		p.next()
		return Number(text, ir.Number(tensor.Float64, complex(x, 0)))
	}
	if f := algebra.Find(p.tok); f != nil &&
		strings.HasPrefix(strings.TrimLeft(p.text[p.at:], blanks), "(") {
		return p.call(f)
	}
	return p.access()
}

// call reads a call of f.
func (p *parser) call(f *algebra.Function) Expr {
	x := &Call{Func: f}
	p.next()
	p.expect("(")
	for k := range f.Args {
		if k > 0 {
			p.expect(",")
		}
		x.Args = append(x.Args, p.expr(1))
	}
	p.expect(")")
	return x
}
