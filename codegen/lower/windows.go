package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// This file merges segments in windows. A result may append a sum of segments, each multiplied by a
// factor. ir.Union computes it by sorting windows of the segments, so no branch except the ends of
// the segments depends on the data. If there are more segments than a union accepts, the first ones
// are merged first, then their sum and the next ones, and so on, in the order of the sum. Partial
// sums are in the result's own arrays, after the capacity for the remaining segments.

// scaledSegment is a term of a sum that is merged in windows: the segment of iterator it,
// multiplied by factor. If factor is nil, it means 1. The term is subtracted if minus is true.
type scaledSegment struct {
	it     *iter
	factor cin.Expr
	minus  bool
}

// appendUnions emits unions that append to level k what the loops over p's iterators would append.
// It returns false if the strategy does not say so, or if the loops have another form.
func (a *growing) appendUnions(p *loop, k int) bool {
	l, lev := a.l, &a.levels[k]
	s, ok := p.f.Body.(*cin.Assign)
	if !ok || !l.spec.Strategy.Windowed[p.v()] || l.spec.GPU || s.Accumulate ||
		k+1 != a.op.Order() || lev.crdCap == nil || lev.crd.Elem != tensor.Int32 ||
		a.vals().Elem != l.spec.Compute ||
		!p.canPredicateTerms(p.iters, p.lat.Under(p.lat.Points[0]),
			func(c *tree.Cursor) bool { return c.Level == c.Of.Order() }) {
		return false
	}
	terms, ok := p.scaledSegments(s.RHS)
	if !ok || slices.ContainsFunc(terms, func(t scaledSegment) bool {
		return t.it.crd.Elem != tensor.Int32 || t.it.cur.Of.Argument.Type != l.spec.Compute
	}) {
		return false
	}
	l.windowed[p.v()] = true
	var segments []ir.Segment
	for _, t := range terms {
		segments = append(segments,
			ir.Segment{Crd: t.it.crd, Vals: t.it.cur.Of.Vals(), Lo: t.it.lo, Hi: t.it.hi,
				Factor: l.factorOf(t, p.e)})
	}
	for len(segments) > ir.MostSegments {
		of, rest := segments[:ir.MostSegments], segments[ir.MostSegments:]
		from := ir.Expr(lev.count)
		for _, g := range rest {
			from = ir.Plus(from, ir.Minus(g.Hi, g.Lo))
		}
		from = l.b.Named(lev.count.Name+"_sum", from)
		end := l.b.Declare(lev.count.Name+"_sum_end", from)
		l.b.Emit(&ir.Union{Crd: lev.crd, Vals: a.vals(), N: end, Of: of})
		sum := ir.Segment{Crd: lev.crd, Vals: a.vals(), Lo: from, Hi: end, Factor: ir.One(a.vals().Elem)}
		segments = append([]ir.Segment{sum}, rest...)
	}
	l.b.Emit(&ir.Union{Crd: lev.crd, Vals: a.vals(), N: lev.count, Of: segments})
	return true
}

// scaledSegments returns the terms of a sum in the order of addition, one for each of p's
// iterators. It returns false if the sum has another form.
func (p *loop) scaledSegments(x cin.Expr) ([]scaledSegment, bool) {
	var terms []scaledSegment
	minus := false
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
		if terms, ok = p.scaledSegments(b.X); !ok {
			return nil, false
		}
		x, minus = b.Y, b.Op == '-'
	}
	t, ok := scaled(p, x)
	t.minus = t.minus != minus
	return append(terms, t), ok
}

// scaled returns x as a term. x must be an access of an iterator, or its product with a factor
// without one.
func scaled(p *loop, x cin.Expr) (t scaledSegment, ok bool) {
	switch x := x.(type) {
	case *cin.Neg:
		t, ok = scaled(p, x.X)
		t.minus = !t.minus
	case *cin.Access:
		t.it = p.iterOf(x)
		return t, t.it != nil
	case *cin.Binary:
		if x.Op != '*' {
			return t, false
		}
		for _, q := range [][2]cin.Expr{{x.X, x.Y}, {x.Y, x.X}} {
			if a, is := q[0].(*cin.Access); is && p.iterOf(a) != nil {
				return scaledSegment{it: p.iterOf(a), factor: q[1]}, product(q[1])
			}
		}
	}
	return t, ok
}

// iterOf returns the iterator of an access, or nil if it has none.
func (p *loop) iterOf(a *cin.Access) *iter {
	for _, it := range p.iters {
		if it.key == a.Key() {
			return it
		}
	}
	return nil
}

// factorOf computes a term's factor outside the loop.
func (l *lowerer) factorOf(t scaledSegment, e *env) ir.Expr {
	x := ir.Expr(ir.One(l.spec.Compute))
	if t.factor != nil {
		x = l.expr(t.factor, e, ir.Truth(true)).v
	}
	if t.minus {
		x = ir.Negated(x)
	}
	return l.b.Named("factor", x)
}
