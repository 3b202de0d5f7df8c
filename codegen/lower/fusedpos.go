package lower

import "distaff/codegen/ir"

// The positions of a fused space are the positions of the last of its levels. They are in the order
// of the space, so the positions of an interval of points are themselves an interval.

// fusedPositions returns the positions of the last fused level under a cursor at the first one: all
// positions, or only the positions whose coordinates are in an interval.
func (l *lowerer) fusedPositions(out interval, c *cursor, e *env) interval {
	lo, hi := l.childRange(c, e)
	out.ancestor = append(out.ancestor, lo, hi)
	for k := c.level + 1; k < c.level+len(out.roots); k++ {
		lo, hi = l.wherePresent(c, "_all", l.below(c.op, k, lo)),
			l.wherePresent(c, "_end", l.below(c.op, k, hi))
		out.ancestor = append(out.ancestor, lo, hi)
	}
	if !out.whole {
		from, to := l.corners(*out.among, e)
		lo, hi = l.positionOf(c, out, from, hi), l.positionOf(c, out, to, hi)
	}
	out.lo, out.hi, out.all = lo, hi, [2]ir.Expr{lo, hi}
	return out
}

// wherePresent names a number that is read from a cursor's tensor. It is 0 if the cursor is at no
// entry.
func (l *lowerer) wherePresent(c *cursor, name string, x ir.Expr) ir.Expr {
	if always(c.pres) {
		return l.named(c.op.prefix()+name, x)
	}
	v := l.declare(c.op.prefix()+name, ir.Int(0))
	l.when(c.pres, func() { l.set(v, x) })
	return v
}

// corners returns the first coordinates of the point where an interval of a fused space starts, and
// of the point before which it ends. It returns all coordinates of the two points, or omits the
// last ones if both points have the first coordinates of their variables there.
func (l *lowerer) corners(iv interval, e *env) (from, to []ir.Expr) {
	for iv.rows != nil {
		iv = *iv.rows
	}
	if iv.lo == nil { // the whole space
		first := l.rangeOf(e, iv.roots[0])
		return []ir.Expr{first.lo}, []ir.Expr{first.hi}
	}
	return l.digits(iv.roots, iv.lo, e), l.digits(iv.roots, iv.hi, e)
}

// positionOf returns the first position, in the last fused level under c, of the first point at or
// after the given coordinates. It returns end if all points are before it. It searches one segment
// of each compressed fused level.
func (l *lowerer) positionOf(c *cursor, iv interval, at []ir.Expr, end ir.Expr) ir.Expr {
	p := l.declare(c.op.prefix()+"_at", end)
	last := len(iv.roots) - 1
	firstBelow := func(d int, q ir.Expr) ir.Expr {
		for ; d < last; d++ {
			q = l.below(c.op, c.level+d+1, q)
		}
		return q
	}
	var find func(d int, above, lo, hi ir.Expr)
	find = func(d int, above, lo, hi ir.Expr) {
		k := c.level + d
		var q, next, found ir.Expr
		if c.op.caps(k).CanLocate() {
			q = l.named(c.op.prefix()+"_at",
				ir.Least(ir.Minus(ir.Plus(ir.Times(above, c.op.size(k)), at[d]), c.op.offset(k)), hi))
			next, found = ir.Plus(q, ir.Int(1)), ir.Less(q, hi)
		} else {
			q = l.named(c.op.prefix()+"_at", &ir.Search{A: c.op.crd(k), Lo: lo, Hi: hi, Key: at[d]})
			next, found = ir.Plus(q, ir.Int(1)),
				ir.Both(ir.Less(q, hi), ir.Equal(ir.Coord(c.op.crd(k), q), at[d]))
			if c.op.hasRepeats(k) {
				next = &ir.Search{A: c.op.crd(k), Lo: q, Hi: hi, Key: at[d], Upper: true}
			}
		}
		l.set(p, firstBelow(d, q))
		if d == len(at)-1 {
			return
		}
		l.when(found, func() {
			lo, hi := l.below(c.op, k+1, q), l.below(c.op, k+1, next)
			find(d+1, q, l.named(c.op.prefix()+"_s", lo), l.named(c.op.prefix()+"_e", hi))
		})
	}
	l.when(c.pres, func() { find(0, c.pos, iv.ancestor[0], iv.ancestor[1]) })
	return p
}

// numberAt returns the number, in the space of the fused levels under c, of the point at position
// p. If p is past the end, it returns the end of the interval that contains the positions.
func (l *lowerer) numberAt(c *cursor, iv interval, p ir.Expr, e *env) ir.Expr {
	n := l.declare(iv.roots[0]+"_at", l.counted(*iv.among, e).hi)
	l.when(ir.Less(p, iv.all[1]), func() {
		above, x := c.pos, ir.Expr(ir.Int(0))
		for d, q := range l.ancestors(c, iv, len(iv.roots), p) {
			b := l.rangeOf(e, iv.roots[d])
			x = ir.Plus(ir.Times(x, ir.Minus(b.hi, b.lo)), ir.Minus(l.coordAt(c, d, above, q), b.lo))
			above = q
		}
		l.set(n, x)
	})
	return n
}

// childRange returns the range of positions in a cursor's next level, which is compressed or dense:
// the positions of all children. If the leaf gets only a part of a dense level, it is the range of
// this part.
func (l *lowerer) childRange(c *cursor, e *env) (lo, hi ir.Expr) {
	if !c.op.caps(c.level).CanLocate() {
		return l.segment(c)
	}
	size := c.op.size(c.level)
	from, to := ir.Times(c.pos, size), ir.Times(ir.Plus(c.pos, ir.Int(1)), size)
	if v := c.next(); l.spec.Parts[l.sched.g.Original(v)] {
		s := l.rangeOf(e, v)
		base := ir.Minus(from, c.op.offset(c.level))
		from, to = ir.Plus(base, s.lo), ir.Plus(base, s.hi)
	}
	return l.wherePresent(c, "_s", from), l.wherePresent(c, "_e", to)
}

// below returns the position in level k where the children of position p of the level above begin.
func (l *lowerer) below(op *operand, k int, p ir.Expr) ir.Expr {
	switch caps := op.caps(k); {
	case caps.HasPos():
		return ir.Coord(op.pos(k), p)
	case caps.CanLocate():
		return ir.Times(p, op.size(k))
	}
	return p // one child for each
}

// ancestors returns the positions of the levels above that contain position p of the last fused
// level, outermost first, with p itself last. It searches once for each compressed level except the
// first.
func (l *lowerer) ancestors(c *cursor, iv interval, n int, p ir.Expr) []ir.Expr {
	at := make([]ir.Expr, n)
	at[n-1] = p
	for d := n - 1; d > 0; d-- {
		k := c.level + d
		switch caps := c.op.caps(k); {
		case caps.HasPos():
			s := &ir.Search{A: c.op.pos(k), Lo: iv.ancestor[2*d-2],
				Hi: ir.Plus(iv.ancestor[2*d-1], ir.Int(1)), Key: at[d], Upper: true}
			at[d-1] = l.named(c.op.prefix()+"_row", ir.Minus(s, ir.Int(1)))
		case caps.CanLocate():
			at[d-1] = l.named(c.op.prefix()+"_row", ir.Over(at[d], c.op.size(k)))
		default:
			at[d-1] = at[d]
		}
	}
	return at
}

// coordAt returns the coordinate at position q, below position above, of the d-th level after the
// cursor's level.
func (l *lowerer) coordAt(c *cursor, d int, above, q ir.Expr) ir.Expr {
	k := c.level + d
	if c.op.caps(k).CanLocate() {
		return ir.Plus(ir.Minus(q, ir.Times(above, c.op.size(k))), c.op.offset(k))
	}
	return ir.Coord(c.op.crd(k), q)
}
