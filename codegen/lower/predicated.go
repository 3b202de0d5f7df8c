package lower

import (
	"math"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/tree"
)

// This file has predicated merges. A merge loop over several sparse operands has a case for each
// set of present operands. Which case applies depends on the data, so processors often mispredict
// the branch. If the body is a sum of floats and each term reads one of these operands, one body
// can replace all cases. It computes all terms, and replaces the value of an absent term with a
// number that does not change a sum: -0 if it is added, and 0 if it is subtracted.

// canPredicate reports whether one body can replace the cases of a merge loop at the lattice point
// with the iterators its. The strategy must say so, and the body must be a suitable sum. cases has
// the points under that point.
func (p *loop) canPredicate(its []*iter, cases []lattice.Point) bool {
	l := p.l
	return l.spec.Strategy.Predicated[p.v()] &&
		p.canPredicateTerms(its, cases, func(c *tree.Cursor) bool { return c.Level == c.Of.Order() })
}

// canPredicateTerms makes the same checks as canPredicate, except that it accepts sums of any type
// and does not ask the strategy. The function placed gets an operand that no iterator of the loop
// visits. It reports whether the operand has a value at each coordinate.
func (p *loop) canPredicateTerms(its []*iter, cases []lattice.Point,
	placed func(*tree.Cursor) bool) bool {
	l := p.l
	s, ok := p.f.Body.(*cin.Assign)
	if !ok || len(its) < 2 || len(cases) != 1<<len(its)-1 || p.lat.Coarse || p.lat.Universe() {
		return false
	}
	float := l.spec.Compute.IsFloat()
	keys := map[string]int{}
	for _, it := range p.iters {
		keys[it.key] = 0
		// In a workspace with a place for each coordinate, the places that are not in its list were
		// never written.
		if it.cur.Of.ValueAt != nil || it.repeats || it.padded ||
			it.cur.Of.Argument.Type.IsFloat() != float || it.cur.Level != it.cur.Of.Order()-1 {
			return false
		}
	}
	if !eachTerm(s.RHS, func(term cin.Expr) bool {
		n, plain := 0, true
		cin.ExprAccesses(term, func(a *cin.Access) {
			if _, iterated := keys[a.Key()]; iterated {
				keys[a.Key()]++
				n++
			} else if c := p.e.cur[a.Key()]; c == nil || !ir.Always(c.Present) || !placed(c) {
				plain = false
			}
		})
		return plain && n == 1
	}) {
		return false
	}
	for _, n := range keys {
		if n != 1 {
			return false
		}
	}
	return true
}

// negativeZero can be added to any sum without a change, even to a sum of negative zeros.
var negativeZero = math.Copysign(0, -1)

// eachTerm calls fn with every term of a sum until fn returns false, and reports whether fn
// accepted all terms. It also returns false if a term has a sum inside or if a sum is subtracted,
// because then no single number can replace an absent term.
func eachTerm(x cin.Expr, fn func(cin.Expr) bool) bool {
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-' && product(b.Y)) {
		return eachTerm(b.X, fn) && eachTerm(b.Y, fn)
	}
	return product(x) && fn(x)
}

// product reports whether an expression consists only of products, quotients and negatives of
// accesses and numbers.
func product(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/') && product(x.X) && product(x.Y)
	case *cin.Neg:
		return product(x.X)
	}
	return true
}

// predicatedMerge lowers the body at coordinate c of a point with the iterators its.
func (p *loop) predicatedMerge(c ir.Expr, its []*iter) ir.Expr {
	l := p.l
	cursors, predicates := map[string]*tree.Cursor{}, map[string]ir.Expr{}
	for _, it := range p.iters {
		cursors[it.key] = it.cur.Absent()
	}
	for k, it := range its {
		cursors[it.key] = it.enter(ir.Truth(true))
		// Each iterator's coordinate is compared with the others instead of c, so that the
		// comparison need not wait for c. The iterators' steps are a dependence chain through the
		// whole loop.
		var least ir.Expr
		for m, other := range its {
			if m == k {
				continue
			}
			if least == nil {
				least = other.c
			} else {
				least = ir.Least(least, other.c)
			}
		}
		it.here = l.b.Named(it.name()+"_at", ir.AtMost(it.c, least))
		predicates[it.key] = it.here
	}
	in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
	in.predicates = predicates
	p.bindResult(in)
	some := p.body(in)
	p.noteAssigned(some)
	return some
}

// predicatedSum returns the value of x, a sum or a term, in a predicated body. A number that does
// not change the sum replaces an absent term. Terms whose iterators are exhausted are left out.
// minus is true if x is subtracted.
func (l *lowerer) predicatedSum(x cin.Expr, e *env, minus bool) ir.Expr {
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
		p, q := l.predicatedSum(b.X, e, false), l.predicatedSum(b.Y, e, b.Op == '-')
		switch {
		case q == nil:
			return p
		case p == nil && b.Op == '-':
			return ir.Negated(q)
		case p == nil:
			return q
		case b.Op == '-':
			return ir.Minus(p, q)
		}
		return ir.Plus(p, q)
	}
	y := l.expr(x, e, ir.Truth(true))
	if ir.Never(y.pres) {
		return nil
	}
	here := ir.Expr(ir.Truth(false))
	cin.ExprAccesses(x, func(a *cin.Access) {
		if predicate := e.predicates[a.Key()]; predicate != nil {
			here = predicate
		}
	})
	t := l.spec.Compute
	neutral := ir.Zero(t)
	if t.IsFloat() && !minus {
		neutral = &ir.Lit{Typ: t, C: complex(negativeZero, 0)}
	}
	return ir.Choose(here, l.b.Named("term", y.v), neutral)
}
