package merge

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// This file has predicated merges. A merge loop over several sparse operands has a case for each
// set of present operands. Which case applies depends on the data, so processors often mispredict
// the branch. If the body is a sum of floats and each term reads one of these operands, one body
// can replace all cases. It computes all terms, and replaces the value of an absent term with a
// number that does not change a sum: -0 if it is added, and 0 if it is subtracted.

// canPredicate reports whether one predicated body can replace the cases of a merge loop. This
// requires that the strategy chooses predication for the loop's variable, and that the body has a
// suitable form (see CanPredicateTerms). iters are the iterators of the loop's lattice point. cases
// has the points below this point in the lattice.
func (p *Loop) canPredicate(iters []*Iter, cases []lattice.Point) bool {
	return p.E.Leaf.Spec.Strategy.Predicated[p.V()] &&
		p.CanPredicateTerms(iters, cases, func(c *tree.Cursor) bool { return c.Level == c.Of.Order() })
}

// CanPredicateTerms makes the same checks as canPredicate, but does not ask the strategy. The
// loop's body must be an assignment of a sum. Each term of the sum must have exactly one access
// that an iterator of the loop visits. The function placed gets the cursor of an access that no
// iterator visits. placed must report whether the operand has a value at each coordinate.
func (p *Loop) CanPredicateTerms(iters []*Iter, cases []lattice.Point,
	placed func(*tree.Cursor) bool) bool {
	s, ok := p.F.Body.(*cin.Assign)
	if !ok || s.Op != nil || len(iters) < 2 || len(cases) != 1<<len(iters)-1 || p.Lat.Coarse || p.Lat.Universe() {
		return false
	}
	float := p.E.Leaf.Spec.Compute.IsFloat()
	keys := map[string]int{}
	for _, it := range p.Iters {
		keys[it.Key] = 0
		// In a workspace with a place for each coordinate, the places that are not in its list were
		// never written.
		if it.Cur.Of.ValueAt != nil || it.repeats || it.Padded ||
			it.Cur.Of.Argument.Type.IsFloat() != float || it.Cur.Level != it.Cur.Of.Order()-1 {
			return false
		}
	}
	if !eachTerm(s.RHS, func(term cin.Expr) bool {
		n, plain := 0, true
		cin.ExprAccesses(term, func(a *cin.Access) {
			if _, iterated := keys[a.Key()]; iterated {
				keys[a.Key()]++
				n++
			} else if c := p.E.Cur[a.Key()]; c == nil || !ir.Always(c.Present) || !placed(c) ||
				c.Of.Mark != nil {
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

// NegativeZero can be added to any sum without a change, even to a sum of negative zeros.
var NegativeZero = math.Copysign(0, -1)

// eachTerm calls fn with each term of the sum x until fn returns false. It returns true if fn
// accepts all terms. It returns false if a term contains a sum, or if a sum is subtracted. In these
// cases no single number could replace an absent term.
func eachTerm(x cin.Expr, fn func(cin.Expr) bool) bool {
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-' && Product(b.Y)) {
		return eachTerm(b.X, fn) && eachTerm(b.Y, fn)
	}
	return Product(x) && fn(x)
}

// Product reports whether an expression consists only of products, quotients and negatives of
// accesses and numbers.
func Product(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/') && Product(x.X) && Product(x.Y)
	case *cin.Neg:
		return Product(x.X)
	case *cin.Call:
		return false
	}
	return true
}

// predicatedMerge lowers the body of the merge loop p at coordinate c, once for all cases. iters
// are the iterators that are not at their end. For each of them, the code computes a predicate:
// whether the iterator is at coordinate c. The body uses the predicates.
func (p *Loop) predicatedMerge(c ir.Expr, iters []*Iter) ir.Expr {
	cursors, predicates := map[string]*tree.Cursor{}, map[string]ir.Expr{}
	for _, it := range p.Iters {
		cursors[it.Key] = it.Cur.Absent()
	}
	for k, it := range iters {
		cursors[it.Key] = it.Enter(ir.Truth(true))
		// Each iterator's coordinate is compared with the others instead of c, so that the
		// comparison need not wait for c. The iterators' steps are a dependence chain through the
		// whole loop.
		others := slices.Delete(slices.Clone(iters), k, k+1)
		least := fold(ir.Least, ofAll(others, func(it *Iter) ir.Expr { return it.c }))
		it.here = p.E.Leaf.B.Named(it.Name()+"_at", ir.AtMost(it.c, least))
		predicates[it.Key] = it.here
	}
	in := p.E.Bind(p.F.Body, p.V(), c, cursors)
	in.Predicates = predicates
	p.bindResult(in)
	return p.RunBody(in)
}

// PredicatedSum returns the value of x, a sum or a term, in a predicated body. A number that does
// not change the sum replaces an absent term. Terms whose iterators are exhausted are left out.
// minus is true if x is subtracted.
func PredicatedSum(x cin.Expr, e *scope.Env, minus bool) ir.Expr {
	l := e.Leaf
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
		p, q := PredicatedSum(b.X, e, false), PredicatedSum(b.Y, e, b.Op == '-')
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
	y := e.Expr(x, ir.Truth(true))
	if ir.IsFalse(y.Pres) {
		return nil
	}
	here := ir.Expr(ir.Truth(false))
	cin.ExprAccesses(x, func(a *cin.Access) {
		if predicate := e.Predicates[a.Key()]; predicate != nil {
			here = predicate
		}
	})
	t := l.Spec.Compute
	neutral := ir.Zero(t)
	if t.IsFloat() && !minus {
		neutral = &ir.Lit{Typ: t, C: complex(NegativeZero, 0)}
	}
	return ir.Choose(here, l.B.Named("term", y.V), neutral)
}

// HasQuotient reports whether an expression contains a quotient.
func HasQuotient(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return HasQuotient(x.X)
	case *cin.Call:
		return slices.ContainsFunc(x.Args, HasQuotient)
	case *cin.Binary:
		return x.Op == '/' || HasQuotient(x.X) || HasQuotient(x.Y)
	}
	return false
}
