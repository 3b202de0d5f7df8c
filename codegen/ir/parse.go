package ir

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/io/tensor"
)

// Parse reads the text form that Print writes. An error has the line and column where Parse
// stopped, and says what is wrong. Parse does not verify the function.
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
		p.failf("got %s after the function, want the end of the text", p.tok)
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

// newVar returns the variable that a declaration of name introduces. Scopes that declare the same
// name share one variable.
func (p *parser) newVar(name string, t tensor.Type) *Var {
	switch old := p.names[name].(type) {
	case nil:
	case *Var:
		if old.Typ == t {
			return old
		}
		p.failf("%s has the type %s here, but it was first used with the type %s", name, t, old.Typ)
	default:
		p.failf("%s is not a variable", name)
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
		p.failf("the type of array %s differs from its first use", name)
	default:
		p.failf("%s is not an array", name)
	}
	a := &Array{Name: name, Elem: t, Const: constant}
	p.names[name] = a
	return a
}

func (p *parser) oldVar() *Var {
	name := p.name()
	v, ok := p.names[name].(*Var)
	if !ok {
		p.failf("%s is not a variable", name)
	}
	return v
}

func (p *parser) oldArray() *Array {
	name := p.name()
	a, ok := p.names[name].(*Array)
	if !ok {
		p.failf("%s is not an array", name)
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
		p.failf("got %s, want %s followed by a number", p.tok, prefix)
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
	p.failf("got %s, want a field of a tensor, such as vals or pos", p.tok)
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
	}
	s := p.empty()
	s.row(&Row{reader: p})
	return s
}

// empty returns a statement of the next statement's kind, with no operands.
func (p *parser) empty() Stmt {
	if s := statements[p.tok.text]; s != nil && p.tok.kind == tokName {
		return s.clone()
	}
	switch p.names[p.tok.text].(type) {
	case *Var:
		return &Assign{}
	case *Array:
		return &Store{}
	}
	p.failf("%s is neither a variable nor an array", p.name())
	return nil
}

// form reads a part of a row.
func (p *parser) form(form string, operands []Operand) {
	for _, o := range operands {
		before, after, _ := strings.Cut(form, "%")
		p.literal(before)
		p.operand(o)
		form = after
	}
	p.literal(form)
}

// literal reads the tokens of a text.
func (p *parser) literal(text string) {
	for l := (lexer{src: text}); ; {
		t, err := l.next()
		if err != nil {
			panic("BUG: ir: the text form " + text)
		}
		if t.kind == tokEnd {
			return
		}
		p.expect(t.text)
	}
}

// operand reads an operand of a row into its field.
func (p *parser) operand(o Operand) {
	switch at := o.at.(type) {
	case *Expr:
		if o.Role == Scales {
			*at = p.unary()
			return
		}
		*at = p.expr()
	case **Array:
		if !o.Role.Makes() {
			*at = p.oldArray()
			return
		}
		name, t := p.name(), p.typ()
		*at = p.newArray(name, t, p.accept("const"))
	case **Table:
		if o.Role != Makes {
			*at = p.oldTable()
			return
		}
		name := p.name()
		*at = p.newTable(name, p.typ())
	case **Var:
		*at = p.variable(o)
	case *bool:
		set, clear, _ := strings.Cut(o.text, "|")
		if *at = p.acceptFlag(strings.TrimSpace(set)); !*at && clear != "" {
			p.expect(clear)
		}
	case *int64:
		if o.text == "" || p.accept(strings.TrimSpace(o.text)) {
			*at = p.int()
		}
	case *string:
		*at = p.name()
	case *Slot:
		*at = p.slot()
	case *FailCode:
		*at = p.failCode()
	case **Block:
		if o.text == "" || p.accept(strings.TrimSpace(o.text)) {
			*at = p.block()
		}
	default:
		panic(fmt.Sprintf("BUG: ir.Parse: operand %T", at))
	}
}

// acceptFlag skips the next token and returns true if this token is the flag text. Otherwise it
// skips nothing and returns false. If text is not a reserved word, the token may be a name with
// which the next statement begins. This is so if =, += or [ follows the token. acceptFlag then also
// returns false.
func (p *parser) acceptFlag(text string) bool {
	lex, tok := p.lex, p.tok
	if !p.accept(text) {
		return false
	}
	if tok.kind == tokName && !words[text] && (p.is("=") || p.is("+=") || p.is("[")) {
		p.lex, p.tok = lex, tok
		return false
	}
	return true
}

// variable reads a variable that a row declares, sets or sums.
func (p *parser) variable(o Operand) *Var {
	switch {
	case o.Role != Declares:
		return p.oldVar()
	case o.typ != tensor.None:
		return p.newVar(p.name(), o.typ)
	}
	name := p.name()
	return p.newVar(name, p.typ())
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

func (p *parser) newTable(name string, t tensor.Type) *Table {
	switch old := p.names[name].(type) {
	case nil:
	case *Table:
		if old.Elem == t {
			return old
		}
		p.failf("the type of table %s differs from its first use", name)
	default:
		p.failf("%s is not a table", name)
	}
	x := &Table{Name: name, Elem: t}
	p.names[name] = x
	return x
}

func (p *parser) oldTable() *Table {
	name := p.name()
	t, ok := p.names[name].(*Table)
	if !ok {
		p.failf("%s is not a table", name)
	}
	return t
}

func (p *parser) failCode() FailCode {
	for c := FailMemory; c <= FailPattern; c++ {
		if p.accept(c.String()) {
			return c
		}
	}
	p.failf("got %s, want the name of a failure", p.tok)
	return OK
}

// statements maps the first word of a statement's text to an empty statement of that kind. A kind
// whose text may begin with several words has several keys. words is the set of reserved words: a
// name that is a reserved word must be quoted.
var (
	statements = map[string]Stmt{}
	words      = map[string]bool{}
)

func init() {
	identifiers := func(text string) []string {
		return strings.FieldsFunc(text, func(c rune) bool { return !isIdent("_" + string(c)) })
	}
	for _, s := range Statements() {
		var texts []string
		if s.row(&Row{texts: &texts}); len(texts) == 0 { // a comment
			continue
		}
		for _, w := range identifiers(strings.Join(texts, " ")) {
			words[w] = true
		}
		first, _, _ := strings.Cut(texts[0], "%")
		for _, w := range identifiers(first) {
			statements[w] = s
		}
	}
	for _, w := range strings.Fields("func param bounds threads const else zero undefined step " +
		"parallel dynamic static vector unrolled serial blocks warps lanes min max select apply search " +
		"searchupper true false inf nan inff nanf _ bool int32 int64 float32 float64 complex64 " +
		"complex128") {
		words[w] = true
	}
}
