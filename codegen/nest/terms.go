package nest

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// term is a product of factors while the nest builder works on it. The builder makes the loops of
// the nest, and each loop binds one more variable of the term.
type term struct {
	neg     bool
	factors []cin.Expr
	sums    []string // the summed variables that no loop binds yet
	pending []*pendingSum
	parts   []*hoistedSum // sums that were taken out of the term
	// gemm is the product of matrices that replaces the innermost loops, if a contraction ends in
	// one; otherwise it is nil.
	gemm *network.Gemm
}

// expression returns the term as an expression. It sorts the factors by the loops that bind their
// variables, outermost first. With this order, a partial product that does not change in an inner
// loop is computed outside that loop.
func (n *Nest) expression(t *term) cin.Expr {
	factors := slices.Clone(t.factors)
	slices.SortStableFunc(factors, func(a, b cin.Expr) int { return n.depth(a) - n.depth(b) })
	x := factors[0]
	for _, f := range factors[1:] {
		x = &cin.Binary{Op: '*', X: x, Y: f}
	}
	if t.neg {
		x = &cin.Neg{X: x}
	}
	return x
}

// depth returns the smallest number of outermost loops that bind all variables of x. n.in.Order
// lists the variables of the loops, outermost first. The depth of a scalar temporary is 0.
func (n *Nest) depth(x cin.Expr) int {
	d := 0
	cin.ExprAccesses(x, func(a *cin.Access) {
		for _, v := range a.Vars {
			d = max(d, slices.Index(n.in.Order, v)+1)
		}
	})
	return d
}

// pendingSum is an explicit sum, or another reduction op, inside a term. It is computed as the
// temporary temp when its free variables are bound.
type pendingSum struct {
	op   *algebra.Reduction // nil is a sum
	temp string
	free []string
	body []*term
}

// term converts a term of the normal form for the nest. The parameter sums has the variables that
// the term sums over. Each explicit sum in a factor becomes a scalar temporary, which must be
// computed before the term.
func (n *Nest) term(t *notation.Term, sums []string) *term {
	out := &term{sums: sums, neg: t.Negative}
	for _, f := range t.Factors {
		out.factors = append(out.factors, n.operand(f, out))
	}
	return out
}

func (n *Nest) operand(f notation.Factor, t *term) cin.Expr {
	switch f := f.(type) {
	case *notation.Access, *notation.Number:
		return n.expr(f.(notation.Expr), t)
	case *notation.Group:
		return n.expr(f.X, t)
	case *notation.Quotient:
		return &cin.Binary{Op: '/', X: n.expr(f.Num, t), Y: n.expr(f.Den, t)}
	case *notation.Reduction:
		return n.expr(&notation.ReductionExpr{Reduction: f}, t)
	}
	panic(fmt.Sprintf("BUG: nest: factor %T", f))
}

// expr translates x to concrete index notation. Each explicit sum in x becomes a scalar temporary,
// which must be computed before term t.
func (n *Nest) expr(x notation.Expr, t *term) cin.Expr {
	switch x := x.(type) {
	case *notation.Access:
		return &cin.Access{Name: n.in.Name(x), Vars: x.Vars}
	case *notation.Number:
		return number(x)
	case *notation.Neg:
		return &cin.Neg{X: n.expr(x.X, t)}
	case *notation.Binary:
		return &cin.Binary{Op: x.Op, X: n.expr(x.X, t), Y: n.expr(x.Y, t)}
	case *notation.Call:
		c := &cin.Call{Func: x.Func}
		for _, y := range x.Args {
			c.Args = append(c.Args, n.expr(y, t))
		}
		return c
	case *notation.ReductionExpr:
		p := &pendingSum{temp: n.fresh("t"), free: notation.FreeVars(x)}
		if r := x.Reduction; !r.Op.IsSum() {
			if slices.ContainsFunc(r.Vars, func(v string) bool { return n.in.Size(v) == 0 }) {
				return start(r.Op, n.in.Compute)
			}
			p.op = r.Op
		}
		for _, b := range x.Reduction.Body {
			sums := slices.Clone(x.Reduction.Vars)
			for _, v := range b.Sum {
				if !slices.Contains(sums, v) {
					sums = append(sums, v)
				}
			}
			p.body = append(p.body, n.term(b, sums))
		}
		t.pending = append(t.pending, p)
		return &cin.Access{Name: p.temp}
	}
	panic(fmt.Sprintf("BUG: nest: expression %T", x))
}

// start returns the value of a reduction over no coordinates.
func start(op *algebra.Reduction, t tensor.Type) *cin.Lit {
	l := ir.Literal(op.Start(t))
	return cin.Number(l.String(), l)
}

func number(x *notation.Number) *cin.Lit {
	l := ir.Int(x.Int)
	if !x.IsInt {
		l = ir.Number(tensor.Float64, complex(x.Float, 0))
	}
	l.At = x.At.Pos + 1
	return cin.Number(x.Text, l)
}

// String returns the term as text, with its summed variables and with the temporaries that must be
// computed before it. If a factor is the temporary of a hoisted sum, the sum follows it in braces.
func (t *term) String() string {
	texts := make([]string, len(t.factors))
	for k, f := range t.factors {
		texts[k] = cin.ExprString(f)
		for _, p := range t.parts {
			if f == cin.Expr(p.at) {
				texts[k] = p.at.Key() + "{" + termTexts(p.body, " + ") + "}"
			}
		}
	}
	text := strings.Join(texts, " * ")
	if t.neg {
		text = "-" + text
	}
	if len(t.sums) > 0 {
		text = "sum(" + strings.Join(t.sums, ",") + ", " + text + ")"
	}
	for _, p := range t.pending {
		text += " where " + p.temp + " = " + termTexts(p.body, " + ")
	}
	return text
}

func termTexts(terms []*term, between string) string {
	texts := make([]string, len(terms))
	for k, t := range terms {
		texts[k] = t.String()
	}
	return strings.Join(texts, between)
}

// hasPart reports whether a hoisted sum of t must be computed at the place where the loop over
// order[k] would begin.
func (t *term) hasPart(k int) bool {
	return slices.ContainsFunc(t.parts, func(p *hoistedSum) bool { return p.k == k })
}

// multipliedOut reverses the hoisting of sums. It returns the term as one product. The factors of a
// hoisted sum replace the sum's temporary, and the term then sums over the sum's variables. The
// order of the factors may differ from their order before the hoisting.
func (t *term) multipliedOut() *term {
	if len(t.parts) == 0 {
		return t
	}
	parts := map[cin.Expr]*hoistedSum{}
	t.eachPart(func(p *hoistedSum) { parts[p.at] = p })
	c := *t
	c.parts, c.factors, c.sums = nil, nil, slices.Clone(t.sums)
	var add func(factors []cin.Expr)
	add = func(factors []cin.Expr) {
		for _, f := range factors {
			p := parts[f]
			if p == nil {
				c.factors = append(c.factors, f)
				continue
			}
			c.sums = append(c.sums, p.body[0].sums...)
			add(p.body[0].factors)
		}
	}
	add(t.factors)
	return &c
}

// eachPart calls fn for each hoisted sum of t, and for the hoisted sums inside these sums, at
// every depth.
func (t *term) eachPart(fn func(*hoistedSum)) {
	for _, p := range t.parts {
		fn(p)
		p.body[0].eachPart(fn)
	}
}

// String returns the terms, one on each line.
func (n *Nest) String() string { return termTexts(n.terms, "\n") + "\n" }

// Verify checks that the terms have the same factors and sums as the terms of the normal form.
func (n *Nest) Verify() error {
	before := New(n.in).terms
	if len(before) != len(n.terms) {
		return fmt.Errorf("got %d terms, want %d", len(n.terms), len(before))
	}
	for k, x := range before {
		y := n.terms[k].multipliedOut()
		if got, want := sortedKeys(y), sortedKeys(x); !slices.Equal(got, want) || x.neg != y.neg {
			return fmt.Errorf("the pass changed a term: got %s, want %s", n.terms[k], x)
		}
	}
	return nil
}

// sortedKeys returns the texts of a term's factors and the variables that it sums over, sorted
// together.
func sortedKeys(x *term) []string {
	keys := slices.Clone(x.sums)
	for _, f := range x.factors {
		keys = append(keys, cin.ExprString(f))
	}
	slices.Sort(keys)
	return keys
}
