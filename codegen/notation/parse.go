package notation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// MaxDepth is the largest accepted nesting depth of parentheses, signs and sums.
const MaxDepth = 1000

// Parse parses one statement. The left side may also be a NAME alone. Otherwise the grammar is the
// one in docs/reference.md:
//
//	statement := access ("=" | "+=" | "-=" | "*=" | "min=" | "max=" | "and=" | "or=") expr
//	expr      := term (("+" | "-") term)*
//	term      := factor (("*" | "/") factor)*
//	factor    := "-" factor | primary ["**" factor]
//	primary   := NUMBER | "inf" | "nan" | access | NAME | FUNCTION "(" expr ("," expr)* ")"
//	           | REDUCTION "(" vars "," expr ")" | "(" expr ")"
//	access    := NAME "(" [index ("," index)*] ")"
//	index     := ["~"] expr, an affine form of variables or an access
//	vars      := NAME ("," NAME)* | "{" NAME ("," NAME)* "}"
//
// On the right side "sum(" starts a reduction, except in sum() and sum(i), which can only be
// accesses. A bare sum on the right side, and sum in any form on the left side, is an ordinary
// name. In sum(i, j, x) the variables are the names followed by a comma, and the body is the last
// item. The same is true for the other reductions of package algebra. min and max are reductions
// if the first argument is an index variable, and otherwise functions. Likewise the name of a
// function of package algebra is a FUNCTION if "(" follows it on the right side, and x**y is
// pow(x, y).
//
// y(i) OP= x is y(i) = y(i) OP (x). Before that, OP reduces x over the variables that y(i) lacks.
//
// Errors are *diag.Error with the place in src. Parse checks the syntax only; Check does the rest.
func Parse(src string) (*Stmt, error) {
	s, err := ParseIn(src, Span{0, len(src)})
	if err != nil {
		return nil, err
	}
	return Resolve(s), nil
}

// ParseIn parses the part of src at the given span. All spans, also in errors, are offsets in src.
// The statement is not yet resolved: names may still be replaced by numbers (see Resolve).
func ParseIn(src string, at Span) (*Stmt, error) {
	p := &parser{src: src, part: at, toks: scan(src, at), end: "the end of the statement"}
	s, err := p.statement()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ParseExprIn parses the part of src at the given span as an expr of Parse's grammar. All spans,
// also in errors, are offsets in src.
func ParseExprIn(src string, at Span) (Expr, error) {
	p := &parser{src: src, part: at, toks: scan(src, at), end: "the end of the expression",
		alone: true}
	x := p.expr()
	if p.err == nil && p.peek().kind != tokEnd {
		p.gotMore(p.peek(), "an operator or the end of the expression")
	}
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// parser is a recursive descent parser over tokens. It keeps the first error in err. After an error
// the results of its methods have no meaning.
type parser struct {
	src   string
	part  Span // the part of src that is parsed
	toks  []token
	end   string // how messages call tokEnd
	alone bool   // the text is an expression outside a statement
	// index in toks of the next token
	k int
	// current nesting depth of factors
	depth int
	// indices has the names that accesses have as index variables. It is nil until isIndex is called.
	indices map[string]bool
	err     *diag.Error
}

func (p *parser) peek() token { return p.toks[p.k] }

// peekAfter returns the token after the next one.
func (p *parser) peekAfter() token { return p.toks[min(p.k+1, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.k]
	if t.kind != tokEnd {
		p.k++
	}
	return t
}

func (p *parser) text(t token) string { return p.src[t.at.Pos:t.at.End] }

// got records a syntax error at token t. want describes what the grammar allows there.
func (p *parser) got(t token, want string) {
	p.gotHint(t, want, p.hint(t.at))
}

// gotHint is like got, with the given hint for the user.
func (p *parser) gotHint(t token, want, hint string) {
	p.fail(diag.Syntax, t.at, "got %s, want %s%s", p.describe(t), want, hint)
}

// gotMore records a syntax error at token t, where the text before t is already complete. want
// describes what the grammar allows there.
func (p *parser) gotMore(t token, want string) {
	hint := p.hint(t.at)
	if hint == "" && !p.alone {
		hint = productHint(t)
		if word := p.textBefore(t); hint != "" && keywords[word] != "" {
			hint = "; " + keywords[word]
		}
	}
	p.gotHint(t, want, hint)
}

// textBefore returns the text of the token before t, or "" if t is the first.
func (p *parser) textBefore(t token) string {
	k := slices.IndexFunc(p.toks, func(u token) bool { return u.at == t.at })
	if k < 1 {
		return ""
	}
	return p.text(p.toks[k-1])
}

func (p *parser) fail(code diag.Code, at Span, format string, args ...any) {
	if p.err == nil {
		p.err = diag.At(code, p.src, at.Pos, at.End, format, args...)
	}
}

func (p *parser) expect(kind tokenKind, want string) token {
	t := p.peek()
	if t.kind != kind {
		p.got(t, want)
		return t
	}
	return p.next()
}

func (p *parser) statement() (*Stmt, error) {
	if statement, arrow := fromEinsum(p.src[p.part.Pos:p.part.End]); statement != "" {
		p.fail(diag.Syntax, Span{p.part.Pos + arrow.Pos, p.part.Pos + arrow.End},
			`got "->", want a statement with "=" or "+="; einsum's subscripts must be written `+
				`as %s`, statement)
		return nil, p.err
	}
	s := &Stmt{Src: p.src}
	name := p.expect(tokName, "the name of the result, as in A(i,j) = ...")
	if p.err == nil {
		s.LHS = p.access(name)
	}
	var op token
	if p.err == nil {
		switch op = p.next(); op.kind {
		case '=', tokUpdate:
		case tokPlusEqual:
			s.Accumulate = true
		default:
			p.got(op, `"=" or "+=" after the left side`)
		}
	}
	if p.err == nil {
		s.RHS = p.expr()
	}
	if p.err == nil && op.kind == tokUpdate {
		s.update = p.text(op)
	}
	if p.err == nil && p.peek().kind != tokEnd {
		p.gotMore(p.peek(), "an operator or the end of the statement")
	}
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// access parses the part of an access after the tensor's name: nothing, or indices in parentheses.
func (p *parser) access(name token) *Access {
	a := &Access{Name: p.text(name), At: name.at}
	if p.peek().kind != '(' {
		return a
	}
	p.next()
	if p.peek().kind == ')' {
		a.At.End = p.next().at.End
		return a
	}
	for p.err == nil {
		p.index(a)
		if p.err != nil {
			break
		}
		switch t := p.next(); t.kind {
		case ',':
		case ')':
			a.At.End = t.at.End
			return a
		default:
			p.gotHint(t, `"," or ")" after an index variable of `+a.Name, p.callHint(a.Name, t))
		}
	}
	return a
}

// index parses the next index of a: a variable, or an expression with "~" or without.
func (p *parser) index(a *Access) {
	v, m := p.peek(), len(a.Vars)
	after := p.peekAfter()
	if v.kind == tokName && (after.kind == ',' || after.kind == ')') {
		p.next()
		a.Vars, a.VarAt = append(a.Vars, p.text(v)), append(a.VarAt, v.at)
		if a.Index != nil {
			a.Index, a.Outside = append(a.Index, nil), append(a.Outside, false)
		}
		return
	}
	if p.notAnIndex(a.Name, v, after) {
		return
	}
	if v.kind == '~' {
		p.next()
	}
	e := p.expr()
	if p.err != nil {
		return
	}
	if a.Index == nil {
		a.Index, a.Outside = make([]Expr, m), make([]bool, m)
	}
	a.Vars, a.VarAt = append(a.Vars, ""), append(a.VarAt, Span{v.at.Pos, e.Span().End})
	a.Index, a.Outside = append(a.Index, e), append(a.Outside, v.kind == '~')
}

// notAnIndex reports whether the tokens v and after, which follow "(" or "," in an access to a
// tensor called name, cannot begin an index. It then records the error. A name of a function that
// this language lacks is an error too, because the user does not mean a tensor.
func (p *parser) notAnIndex(name string, v, after token) bool {
	switch {
	case functions[name] != "" || slices.Contains(numberFunctions, name) || keywords[name] != "":
		if v.kind == tokName {
			v = after
		}
	case v.kind == tokName || v.kind == tokNumber || v.kind == '-' || v.kind == '(' || v.kind == '~':
		return false
	}
	p.gotHint(v, "an index variable", p.callHint(name, v))
	return true
}

func (p *parser) expr() Expr {
	x := p.term()
	for p.err == nil && (p.peek().kind == '+' || p.peek().kind == '-') {
		op := p.next()
		x = &Binary{Op: byte(op.kind), X: x, Y: p.term()}
	}
	if p.err == nil && p.peek().kind == tokPlusEqual {
		p.got(p.peek(), `an operand: "+=" may only follow the left side`)
	}
	return x
}

func (p *parser) term() Expr {
	x := p.factor()
	for p.err == nil && (p.peek().kind == '*' || p.peek().kind == '/') {
		op := p.next()
		x = &Binary{Op: byte(op.kind), X: x, Y: p.factor()}
	}
	return x
}

func (p *parser) factor() Expr {
	// MaxDepth nested constructs contain one more factor, the innermost operand.
	if p.depth++; p.depth > MaxDepth+1 {
		p.fail(diag.TooLarge, p.peek().at, "got an expression nested more than %d deep", MaxDepth)
	}
	defer func() { p.depth-- }()
	if p.err != nil {
		return &Number{}
	}
	if t := p.peek(); t.kind == '-' {
		p.next()
		x := p.factor()
		return &Neg{X: x, At: Span{t.at.Pos, x.Span().End}}
	}
	start := p.peek().at.Pos
	x := p.primary()
	if p.err != nil || p.peek().kind != tokPower {
		return x
	}
	p.next()
	y := p.factor()
	return &Call{Func: algebra.Find("pow"), Args: []Expr{x, y}, At: Span{start, y.Span().End}}
}

// primary parses an operand without a sign or a power.
func (p *parser) primary() Expr {
	switch t := p.next(); t.kind {
	case '(':
		x := p.expr()
		if t := p.peek(); t.kind != ')' {
			p.gotMore(t, `an operator or ")"`)
			return x
		}
		p.next()
		return x
	case tokNumber:
		return p.number(t)
	case tokName:
		if p.peek().kind != '(' {
			if x := notFinite(p.text(t)); x != 0 {
				return &Number{Text: p.text(t), Float: x, At: t.at}
			}
			return p.access(t)
		}
		f := algebra.Find(p.text(t))
		if op := algebra.FindReduction(p.text(t)); op != nil && !p.shortAccess() &&
			(f == nil || p.opensReduction()) {
			return p.reduction(t, op)
		}
		if f != nil {
			return p.call(t, f)
		}
		return p.access(t)
	default:
		p.got(t, "an operand: a tensor, a number, a function, sum(...) or a parenthesis")
		return &Number{}
	}
}

// shortAccess reports whether the next tokens are "()" or "(" NAME ")".
func (p *parser) shortAccess() bool {
	rest := p.toks[p.k+1:] // after the "("; it is not empty, because the last token is tokEnd
	return rest[0].kind == ')' || len(rest) > 1 && rest[0].kind == tokName && rest[1].kind == ')'
}

// opensReduction reports whether the next tokens are "(" and the beginning of the vars of a
// reduction: a brace, or an index variable and a comma.
func (p *parser) opensReduction() bool {
	rest := p.toks[min(p.k+1, len(p.toks)-1):]
	return rest[0].kind == '{' ||
		rest[0].kind == tokName && rest[1].kind == ',' && p.isIndex(p.text(rest[0]))
}

// isIndex reports whether an access in the text has the given name as an index.
func (p *parser) isIndex(name string) bool {
	if p.indices == nil {
		p.indices = map[string]bool{}
		var tensors []bool // for each open parenthesis, whether it follows a tensor's name
		for k, t := range p.toks {
			switch t.kind {
			case '(':
				tensor := k > 0 && p.toks[k-1].kind == tokName &&
					algebra.Find(p.text(p.toks[k-1])) == nil &&
					(algebra.FindReduction(p.text(p.toks[k-1])) == nil || k == 1)
				tensors = append(tensors, tensor)
			case ')':
				tensors = tensors[:max(len(tensors)-1, 0)]
			case tokName:
				if slices.Contains(tensors, true) && p.toks[k+1].kind != '(' {
					p.indices[p.text(t)] = true
				}
			}
		}
	}
	return p.indices[name]
}

// reduction parses "(" vars "," expr ")" after the name of a reduction.
func (p *parser) reduction(name token, op *algebra.Reduction) Expr {
	s := &Sum{Op: op, At: name.at}
	p.next() // (
	add := func(v token) {
		s.Vars = append(s.Vars, p.text(v))
		s.VarAt = append(s.VarAt, v.at)
	}
	if p.peek().kind == '{' {
		for more := true; more && p.err == nil; more = p.peek().kind == ',' {
			p.next() // { or ,
			add(p.expect(tokName, "an index variable"))
		}
		p.expect('}', `"," or "}" after an index variable`)
		p.expect(',', `"," after the variables of `+op.Name)
	}
	for p.err == nil && p.peek().kind == tokName && p.peekAfter().kind == ',' {
		add(p.next())
		p.next() // ,
	}
	if len(s.Vars) == 0 {
		p.got(p.peek(), `an index variable and ",", as in `+op.Name+`(j, B(i,j)): "`+op.Name+
			`(" begins a `+reductionNoun(op))
		return s
	}
	s.X = p.expr()
	end := p.peek()
	if end.kind != ')' {
		p.gotMore(end, `an operator or ")" at the end of `+op.Name+"(...)")
	}
	s.At.End = p.next().at.End
	return s
}

// reductionNoun returns "sum" or "reduction", as messages call op.
func reductionNoun(op *algebra.Reduction) string {
	if op == nil || op == algebra.Sum {
		return "sum"
	}
	return "reduction"
}

// updates lists the operators of the form OP=, except +=. The right side is reduced by a reduction
// and combined with the old value.
var updates = map[string]string{"-=": "sum", "*=": "prod", "min=": "min", "max=": "max",
	"and=": "all", "or=": "any"}

// updated returns the right side of the statement s OP= s.RHS, as the right side of a statement
// with "=".
func updated(s *Stmt, text string) Expr {
	old, op, x := *s.LHS, algebra.FindReduction(updates[text]), s.RHS
	at := x.Span()
	left := vars{}
	for _, v := range s.LeftVars() {
		left[v] = true
	}
	reduced := &Sum{Op: op, X: x, At: at}
	for _, v := range FreeVars(x) {
		if !left[v] {
			reduced.Vars = append(reduced.Vars, v)
			reduced.VarAt = append(reduced.VarAt, at)
		}
	}
	each := func(x Expr) Expr {
		if op.Each == nil {
			return x
		}
		return &Call{Func: op.Each, Args: []Expr{x}, At: at}
	}
	switch {
	case text == "-=":
		return &Binary{Op: '-', X: &old, Y: x}
	case len(reduced.Vars) > 0:
		x = reduced
	default:
		x = each(x)
	}
	if text == "*=" {
		return &Binary{Op: '*', X: &old, Y: x}
	}
	return &Call{Func: op.Combine, Args: []Expr{each(&old), x}, At: at}
}

// call parses the arguments of f in parentheses, after the name of f. A call with more arguments
// than f has becomes several calls, if f allows it.
func (p *parser) call(name token, f *algebra.Function) Expr {
	p.next() // (
	var args []Expr
	for p.err == nil && (len(args) > 0 || p.peek().kind != ')') {
		args = append(args, p.expr())
		if p.err != nil || p.peek().kind != ',' {
			break
		}
		p.next()
	}
	end := p.peek()
	switch {
	case p.err != nil:
		return &Number{}
	case end.kind != ')':
		p.gotMore(end, fmt.Sprintf(`an operator, "," or ")" in %s(...)`, f.Name))
		return &Number{}
	}
	at := Span{name.at.Pos, p.next().at.End}
	if len(args) != f.Args && !(f.Folds && len(args) > f.Args) {
		more := ""
		if f.Folds {
			more = " or more"
		}
		p.fail(diag.Syntax, at, "got %s of the function %s, want %d%s",
			tensor.Count(len(args), "argument"), f.Name, f.Args, more)
		return &Number{}
	}
	x := &Call{Func: f, Args: args[:f.Args:f.Args], At: at}
	for _, y := range args[f.Args:] {
		x = &Call{Func: f, Args: []Expr{x, y}, At: at}
	}
	return x
}

// notFinite returns the value of the literals inf and nan, or 0 for other names.
func notFinite(name string) float64 {
	switch name {
	case "inf":
		return math.Inf(1)
	case "nan":
		return math.NaN()
	}
	return 0
}

// number parses a literal. Digits alone that fit an int64 are an integer literal. A literal with a
// point, an exponent or more digits is a float64.
func (p *parser) number(t token) Expr {
	n := &Number{Text: p.text(t), At: t.at}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || math.IsInf(f, 0) {
		p.fail(diag.Syntax, t.at, "got %s, want a number below 1.8e308", n.Text)
	}
	n.Float = f
	if !strings.ContainsAny(n.Text, ".eE") {
		if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			n.IsInt, n.Int = true, i
		}
	}
	return n
}
