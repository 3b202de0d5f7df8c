package codegen

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
)

// term is a product on its way down.
type term struct {
	neg     bool
	factors []cin.Expr
	sums    []string // variables to sum, those not yet bound
	pending []*pending
	parts   []*hoistedSum // sums that factoring took out of it
}

// x is the term's expression. Factors come in the order in which their
// variables are bound, so that what does not change in an inner loop is
// multiplied outside it.
func (n *nest) x(t *term) cin.Expr {
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

// depth is the number of loops that must be around x; a temporary stands for
// what is computed where it is read.
func (n *nest) depth(x cin.Expr) int {
	d := 0
	cin.ExprAccesses(x, func(a *cin.Access) {
		for _, v := range a.Vars {
			d = max(d, slices.Index(n.order, v)+1)
		}
	})
	return d
}

// pending is an explicit sum beside other factors, to be computed as
// temporary temp as soon as its free variables are bound.
type pending struct {
	temp string
	free []string
	body []*term
}

// makeTerms makes products of the terms of the normal form: each explicit sum beside
// other factors becomes a scalar that its term waits for.
func (n *nest) makeTerms(terms []*notation.Term) {
	for _, x := range terms {
		n.terms = append(n.terms, n.term(x, x.Sum))
	}
}

func (n *nest) term(t *notation.Term, sums []string) *term {
	out := &term{sums: sums, neg: t.Negative}
	for _, f := range t.Factors {
		out.factors = append(out.factors, n.operand(f, out))
	}
	return out
}

func (n *nest) operand(f notation.Factor, t *term) cin.Expr {
	switch f := f.(type) {
	case *notation.Access:
		return n.expr(f, t)
	case *notation.Number:
		return n.expr(f, t)
	case *notation.Group:
		return n.expr(f.X, t)
	case *notation.Quotient:
		return &cin.Binary{Op: '/', X: n.expr(f.Num, t), Y: n.expr(f.Den, t)}
	case *notation.Reduction:
		return n.expr(&notation.ReductionExpr{Reduction: f}, t)
	}
	panic(fmt.Sprintf("BUG: codegen: factor %T", f))
}

// expr is a plain expression; sums in it become temporaries that t waits for.
func (n *nest) expr(x notation.Expr, t *term) cin.Expr {
	switch x := x.(type) {
	case *notation.Access:
		return &cin.Access{Name: n.name(x), Vars: x.Vars}
	case *notation.Number:
		return number(x)
	case *notation.Neg:
		return &cin.Neg{X: n.expr(x.X, t)}
	case *notation.Binary:
		return &cin.Binary{Op: x.Op, X: n.expr(x.X, t), Y: n.expr(x.Y, t)}
	case *notation.ReductionExpr:
		p := &pending{temp: n.fresh("t"), free: notation.FreeVars(x)}
		for _, b := range x.Body {
			sums := slices.Clone(x.Vars)
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
	panic(fmt.Sprintf("BUG: codegen: expression %T", x))
}

func number(x *notation.Number) *cin.Lit {
	if x.IsInt {
		return cin.Number(x.Text, ir.Int(x.Int))
	}
	return cin.Number(x.Text, ir.Number(ir.Float64, complex(x.Float, 0)))
}

// String is the term with what it sums and waits for: a sum that was taken out stands
// in braces behind its temporary.
func (t *term) String() string {
	texts := make([]string, len(t.factors))
	for k, f := range t.factors {
		texts[k] = cin.ExprString(f)
		for _, p := range t.parts {
			if f == cin.Expr(p.at) {
				texts[k] = p.letter + p.at.Key() + "{" + termTexts(p.body, " + ") + "}"
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
