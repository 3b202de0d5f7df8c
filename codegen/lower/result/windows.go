package result

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// This file merges segments in windows. A result may append a sum of segments, each multiplied by a
// factor. ir.Union computes it by sorting windows of the segments, so no branch except the ends of
// the segments depends on the data. If there are more segments than a union accepts, the first ones
// are merged first, then their sum and the next ones, and so on, in the order of the sum. Partial
// sums are in the result's own arrays, after the capacity for the remaining segments.

// scaledSegment is a term of a sum that is merged in windows. The term is the segment of an
// iterator (field it), multiplied by factor. A nil factor means 1. If minus is true, the term is
// subtracted.
type scaledSegment struct {
	it     *merge.Iter
	factor cin.Expr
	minus  bool
}

// appendUnions emits code that computes unions of segments, in windows. The code replaces the loops
// over p's iterators: it appends the same coordinates and values to level k as the loops would.
// appendUnions returns false if the strategy does not choose windows, or if the loop or its arrays
// do not allow windows.
func (a *growing) appendUnions(p *merge.Loop, k int) bool {
	l, lev := a.out.Leaf, &a.levels[k]
	s, ok := p.F.Body.(*cin.Assign)
	if !ok || !l.Spec.Strategy.Windowed[p.V()] || l.Spec.GPU || s.Accumulate ||
		k+1 != a.out.Op.Order() || lev.crdCap == nil || lev.crd.Elem != tensor.Int32 ||
		a.out.Values.Elem != l.Spec.Compute ||
		!p.CanPredicateTerms(p.Iters, p.Lat.Under(p.Lat.Points[0]),
			func(c *tree.Cursor) bool { return c.Level == c.Of.Order() }) {
		return false
	}
	terms, ok := scaledSegments(p, s.RHS)
	if !ok || slices.ContainsFunc(terms, func(t scaledSegment) bool {
		return t.it.Crd.Elem != tensor.Int32 || t.it.Cur.Of.Argument.Type != l.Spec.Compute
	}) {
		return false
	}
	l.Windowed[p.V()] = true
	var segments []ir.Segment
	for _, t := range terms {
		segments = append(segments,
			ir.Segment{Crd: t.it.Crd, Vals: t.it.Cur.Of.Vals(), Lo: t.it.Lo, Hi: t.it.Hi,
				Factor: factorOf(t, p.E)})
	}
	for len(segments) > ir.MostSegments {
		of, rest := segments[:ir.MostSegments], segments[ir.MostSegments:]
		from := ir.Expr(lev.count)
		for _, g := range rest {
			from = ir.Plus(from, ir.Minus(g.Hi, g.Lo))
		}
		from = l.B.Named(lev.count.Name+"_sum", from)
		end := l.B.Declare(lev.count.Name+"_sum_end", from)
		l.B.Emit(&ir.Union{Crd: lev.crd, Vals: a.out.Values, N: end, Of: of})
		sum := ir.Segment{Crd: lev.crd, Vals: a.out.Values, Lo: from, Hi: end,
			Factor: ir.One(a.out.Values.Elem)}
		segments = append([]ir.Segment{sum}, rest...)
	}
	l.B.Emit(&ir.Union{Crd: lev.crd, Vals: a.out.Values, N: lev.count, Of: segments})
	return true
}

// scaledSegments returns the terms of the sum x, in x's order of addition. Each term is the segment
// of one of p's iterators, multiplied by a factor. scaledSegments returns false if x is not a sum
// of such terms.
func scaledSegments(p *merge.Loop, x cin.Expr) ([]scaledSegment, bool) {
	var terms []scaledSegment
	minus := false
	if b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
		if terms, ok = scaledSegments(p, b.X); !ok {
			return nil, false
		}
		x, minus = b.Y, b.Op == '-'
	}
	t, ok := scaled(p, x)
	t.minus = t.minus != minus
	return append(terms, t), ok
}

// scaled returns x as one term of a sum. It accepts an access of one of p's iterators, the product
// of such an access and a factor, and the negative of one of these. The factor must contain no sum.
// ok is false if x has another form.
func scaled(p *merge.Loop, x cin.Expr) (t scaledSegment, ok bool) {
	switch x := x.(type) {
	case *cin.Neg:
		t, ok = scaled(p, x.X)
		t.minus = !t.minus
	case *cin.Access:
		t.it = p.IterOf(x)
		return t, t.it != nil
	case *cin.Binary:
		if x.Op != '*' {
			return t, false
		}
		for _, q := range [][2]cin.Expr{{x.X, x.Y}, {x.Y, x.X}} {
			if a, is := q[0].(*cin.Access); is && p.IterOf(a) != nil {
				return scaledSegment{it: p.IterOf(a), factor: q[1]}, merge.Product(q[1])
			}
		}
	}
	return t, ok
}

// factorOf computes a term's factor outside the loop.
func factorOf(t scaledSegment, e *scope.Env) ir.Expr {
	l := e.Leaf
	x := ir.Expr(ir.One(l.Spec.Compute))
	if t.factor != nil {
		x = e.Expr(t.factor, ir.Truth(true)).V
	}
	if t.minus {
		x = ir.Negated(x)
	}
	return l.B.Named("factor", x)
}
