package bounds

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
)

// Edges returns the coordinates of two points: the first point of the interval that the open loops
// o still have to visit, and the first point after this interval.
func Edges(o *scope.OpenLoops, e *scope.Env) (lo, hi []ir.Expr) {
	c := o.Of
	l := e.Leaf
	if o.Iv.Unit == scope.Coords {
		return tuples(o.Iv, e)
	}
	from, to := tuples(*o.Iv.Among, e)
	cur := e.Cur[o.Iv.Key]
	if o.Iv.Whole {
		return from, to
	}
	if ir.IsFalse(cur.Present) {
		for d := range from {
			from[d] = l.B.Named(c.Roots[d]+"_edge", ir.Choose(o.Iv.First, from[d], to[d]))
		}
		return from, to
	}
	at := func(p ir.Expr, past []ir.Expr) []ir.Expr {
		out := make([]*ir.Var, len(c.Roots))
		for d := range out {
			out[d] = l.B.Declare(c.Roots[d]+"_edge", past[d])
		}
		l.B.When(ir.Less(p, o.Iv.All[1]), func() {
			above := cur.Pos
			for d, q := range cur.Ancestors(o.Iv.Ancestor, len(c.Roots), p) {
				l.B.Set(out[d], cur.CoordAt(d, above, q))
				above = q
			}
		})
		x := make([]ir.Expr, len(out))
		for d := range out {
			x[d] = out[d]
		}
		return x
	}
	lo, hi = at(o.Iv.Lo, to), at(o.Iv.Hi, to)
	for d := range lo {
		lo[d] = l.B.Named(c.Roots[d]+"_edge", ir.Choose(o.Iv.First, from[d], lo[d]))
	}
	return lo, hi
}

// tuples returns the first point of the interval iv of a fused space, and the first point after the
// interval. Each point has a coordinate for every fused variable.
func tuples(iv scope.Interval, e *scope.Env) (from, to []ir.Expr) {

	from, to = corners(iv, e)
	for _, r := range iv.Roots[len(from):] {
		from, to = append(from, e.RangeOf(r).Lo), append(to, e.RangeOf(r).Lo)
	}
	return from, to
}

// digits returns the coordinates of point number x of a fused space. x may also be the number of
// points, which is the end of the space. If the space is not empty, the first coordinate is then
// one more than the largest value of its variable, and every other coordinate is the smallest value
// of its variable.
func digits(roots []string, x ir.Expr, e *scope.Env) []ir.Expr {
	out := make([]ir.Expr, len(roots))
	for d, f := range provenance.Digits(roots, spanForms(e, roots), Form(x), NameForm(e.Leaf.B)) {
		out[d] = Code(f)
	}
	return out
}

// HasPlainRows reports whether each row of coordinates of level k+1 belongs to exactly one position
// of level k, and ends where the next row begins.
func HasPlainRows(l *scope.Leaf, op *tree.Operand, k int) bool {
	caps := op.Kind(k + 1)
	return !op.Argument.Format.HasRepeats(k) && (caps.HasPos() || caps.CanLocate())
}

// The positions of a fused space are the positions of the last of its levels. They are in the order
// of the space, so the positions of an interval of points are themselves an interval.

// fusedPositions returns out with its range of positions, which it computes. out is an interval of
// positions of the last fused level under cursor c. If out.Whole is true, the range has all
// positions of the level. Otherwise it has the positions whose coordinates are in out.Among.
func fusedPositions(out scope.Interval, c *tree.Cursor, e *scope.Env) scope.Interval {
	l := e.Leaf
	lo, hi := ChildRange(c, e)
	out.Ancestor = append(out.Ancestor, lo, hi)
	for k := c.Level + 1; k < c.Level+len(out.Roots); k++ {
		lo, hi = c.WherePresent("_all", c.Of.Below(k, lo)),
			c.WherePresent("_end", c.Of.Below(k, hi))
		out.Ancestor = append(out.Ancestor, lo, hi)
	}
	if !out.Whole {
		from, to := corners(*out.Among, e)
		lo, hi = positionOf(l, c, out, from, hi), positionOf(l, c, out, to, hi)
	}
	out.Lo, out.Hi, out.All = lo, hi, [2]ir.Expr{lo, hi}
	return out
}

// corners returns the first point of an interval of a fused space (from), and the first point after
// the interval (to). A point may have only its first coordinates. Each missing coordinate is the
// smallest value of its variable.
func corners(iv scope.Interval, e *scope.Env) (from, to []ir.Expr) {

	for iv.Rows != nil {
		iv = *iv.Rows
	}
	if iv.Lo == nil { // the whole space
		first := e.RangeOf(iv.Roots[0])
		return []ir.Expr{first.Lo}, []ir.Expr{first.Hi}
	}
	return digits(iv.Roots, iv.Lo, e), digits(iv.Roots, iv.Hi, e)
}

// positionOf emits a search for the first stored point that is not before a given point. point has
// the coordinates of that given point. positionOf returns the position of the found point in the
// last fused level under c. It returns end if all stored points are before the given point. The
// search visits at most one segment of each compressed fused level.
func positionOf(l *scope.Leaf, c *tree.Cursor, iv scope.Interval, point []ir.Expr,
	end ir.Expr) ir.Expr {
	p := l.B.Declare(c.Of.Prefix()+"_at", end)
	last := len(iv.Roots) - 1
	firstBelow := func(d int, q ir.Expr) ir.Expr {
		for ; d < last; d++ {
			q = c.Of.Below(c.Level+d+1, q)
		}
		return q
	}
	var find func(d int, above, lo, hi ir.Expr)
	find = func(d int, above, lo, hi ir.Expr) {
		k := c.Level + d
		var q, next, found ir.Expr
		if c.Of.Kind(k).CanLocate() {
			q = l.B.Named(c.Of.Prefix()+"_at",
				ir.Least(ir.Minus(ir.Plus(ir.Times(above, c.Of.Size(k)), point[d]), c.Of.Offset(k)), hi))
			next, found = ir.Plus(q, ir.Int(1)), ir.Less(q, hi)
		} else {
			q = l.B.Named(c.Of.Prefix()+"_at", &ir.Search{A: c.Of.Crd(k), Lo: lo, Hi: hi, Key: point[d]})
			next, found = ir.Plus(q, ir.Int(1)),
				ir.Both(ir.Less(q, hi), ir.Equal(ir.Coord(c.Of.Crd(k), q), point[d]))
			if c.Of.Argument.Format.HasRepeats(k) {
				next = &ir.Search{A: c.Of.Crd(k), Lo: q, Hi: hi, Key: point[d], Upper: true}
			}
		}
		l.B.Set(p, firstBelow(d, q))
		if d == len(point)-1 {
			return
		}
		l.B.When(found, func() {
			lo, hi := c.Of.Below(k+1, q), c.Of.Below(k+1, next)
			find(d+1, q, l.B.Named(c.Of.Prefix()+"_s", lo), l.B.Named(c.Of.Prefix()+"_e", hi))
		})
	}
	l.B.When(c.Present, func() { find(0, c.Pos, iv.Ancestor[0], iv.Ancestor[1]) })
	return p
}

// numberAt returns the number of a point in the fused space of the levels under cursor c. The
// coordinates of the point are at position p. The points of the space are numbered in lexicographic
// order. iv is an interval of positions, which may be a part of the interval iv.All. The points of
// iv.All have numbers in the interval iv.Among. If p is at or past the end of iv.All, numberAt
// returns the end of iv.Among.
func numberAt(c *tree.Cursor, iv scope.Interval, p ir.Expr, e *scope.Env) ir.Expr {
	l := e.Leaf
	n := l.B.Declare(iv.Roots[0]+"_at", counted(*iv.Among, e).Hi)
	l.B.When(ir.Less(p, iv.All[1]), func() {
		above, x := c.Pos, ir.Expr(ir.Int(0))
		for d, q := range c.Ancestors(iv.Ancestor, len(iv.Roots), p) {
			b := e.RangeOf(iv.Roots[d])
			x = ir.Plus(ir.Times(x, ir.Minus(b.Hi, b.Lo)), ir.Minus(c.CoordAt(d, above, q), b.Lo))
			above = q
		}
		l.B.Set(n, x)
	})
	return n
}

// ChildRange returns the range of the positions of all children in a cursor's next level. If the
// leaf gets only a part of a dense level, the range is this part.
func ChildRange(c *tree.Cursor, e *scope.Env) (lo, hi ir.Expr) {
	l := e.Leaf
	if !c.Of.Kind(c.Level).CanLocate() {
		return c.Segment()
	}
	size := c.Of.Size(c.Level)
	from, to := ir.Times(c.Pos, size), ir.Times(ir.Plus(c.Pos, ir.Int(1)), size)
	if v := c.Next(); l.Spec.Parts[l.Graph.Original(v)] {
		s := e.RangeOf(v)
		base := ir.Minus(from, c.Of.Offset(c.Level))
		from, to = ir.Plus(base, s.Lo), ir.Plus(base, s.Hi)
	}
	return c.WherePresent("_s", from), c.WherePresent("_e", to)
}
