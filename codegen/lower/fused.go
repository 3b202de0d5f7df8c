package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
)

// A fused space is the space of several variables in lexicographic order. An interval of it is
// lowered to nested loops over the variables. The outermost loop runs from the row of the
// interval's start to the row of its end. The inner loops are restricted by the interval in the
// first row and in the last row.

// determineFused lowers f, the last loop of component c, whose original variables are fused.
func (l *lowerer) determineFused(f *cin.Forall, e *env, c *component, o *openLoops,
	want bool) ir.Expr {
	if l.assigns(f) {
		l.zero(e)
	}
	if l.inRows(f, e, o) {
		return l.rows(f, e, c, o, want)
	}
	lo, hi := l.edges(c, o, e)
	return l.lexicographic(f, e, c, lo, hi, 0, ir.Truth(true), ir.Truth(true), want)
}

// inRows reports whether f can be lowered by the method rows: it visits an interval of positions,
// and has values only there.
func (l *lowerer) inRows(f *cin.Forall, e *env, o *openLoops) bool {
	inOrder := l.assigns(f) && l.assembly.inOrder()
	return !inOrder && o.iv.unit == positions && !ir.Never(e.cur[o.iv.key].Present) &&
		drivenBy(f, o.iv.key)
}

// findRows emits the search for the first row of the remaining tile of fused variables, if loops
// over other variables are around the loop that walks the tile. Otherwise each iteration of these
// loops would search again.
func (l *lowerer) findRows(f *cin.Forall, e *env, c *component) {
	o := e.open.at(c.component.Top)
	next, ok := f.Body.(*cin.Forall)
	if len(c.component.Roots) < 2 || !ok || next.Var == o.leaf {
		return
	}
	for ok && next.Var != o.leaf {
		next, ok = next.Body.(*cin.Forall)
	}
	if !ok || !l.inRows(next, e, o) {
		return
	}
	cur := e.cur[o.iv.key]
	for k := cur.Level + 1; k < cur.Level+len(c.component.Roots); k++ {
		if cur.Of.Kind(k).CanLocate() {
			return // the position would be divided by the level's size, which may be 0
		}
	}
	o.at = cur.Ancestors(o.iv.ancestor, len(c.component.Roots), o.iv.lo)
}

// edges returns the coordinates of an interval's first point, and of the first point after it.
func (l *lowerer) edges(c *component, o *openLoops, e *env) (lo, hi []ir.Expr) {
	if o.iv.unit == coords {
		return l.tuples(o.iv, e)
	}
	from, to := l.tuples(*o.iv.among, e)
	cur := e.cur[o.iv.key]
	if o.iv.whole {
		return from, to
	}
	if ir.Never(cur.Present) {
		for d := range from {
			from[d] = l.b.Named(c.component.Roots[d]+"_edge", ir.Choose(o.iv.first, from[d], to[d]))
		}
		return from, to
	}
	at := func(p ir.Expr, past []ir.Expr) []ir.Expr {
		out := make([]*ir.Var, len(c.component.Roots))
		for d := range out {
			out[d] = l.b.Declare(c.component.Roots[d]+"_edge", past[d])
		}
		l.b.When(ir.Less(p, o.iv.all[1]), func() {
			above := cur.Pos
			for d, q := range cur.Ancestors(o.iv.ancestor, len(c.component.Roots), p) {
				l.b.Set(out[d], cur.CoordAt(d, above, q))
				above = q
			}
		})
		x := make([]ir.Expr, len(out))
		for d := range out {
			x[d] = out[d]
		}
		return x
	}
	lo, hi = at(o.iv.lo, to), at(o.iv.hi, to)
	for d := range lo {
		lo[d] = l.b.Named(c.component.Roots[d]+"_edge", ir.Choose(o.iv.first, from[d], lo[d]))
	}
	return lo, hi
}

// tuples returns the first point of an interval of a fused space, and the first point after it.
// Both have all their coordinates.
func (l *lowerer) tuples(iv interval, e *env) (from, to []ir.Expr) {
	from, to = l.corners(iv, e)
	for _, r := range iv.roots[len(from):] {
		from, to = append(from, l.rangeOf(e, r).Lo), append(to, l.rangeOf(e, r).Lo)
	}
	return from, to
}

// digits returns the coordinates of point number x of a fused space. For the end of the space, the
// first coordinate is one too large and the others are the first coordinates of their variables.
func (l *lowerer) digits(roots []string, x ir.Expr, e *env) []ir.Expr {
	out := make([]ir.Expr, len(roots))
	for d, f := range provenance.Digits(roots, l.spanForms(e, roots), form(x), l.nameForm) {
		out[d] = code(f)
	}
	return out
}

// lexicographic lowers loops over the points of a fused space from lo to before hi, in
// lexicographic order. It starts with the loop over root d, which contains the loops over the later
// roots. atLo is the condition that all roots before d have the coordinates of lo. Only then does
// lo limit the loop. atHi is the same condition for hi.
func (l *lowerer) lexicographic(f *cin.Forall, e *env, c *component, lo, hi []ir.Expr, d int, atLo,
	atHi ir.Expr, want bool) ir.Expr {
	root := c.component.Roots[d]
	all := l.rangeOf(e, root)
	rest := ir.Expr(ir.Truth(false)) // whether the last row has any points
	for k, x := range hi[d+1:] {
		rest = ir.Either(rest, ir.Less(l.rangeOf(e, c.component.Roots[d+1+k]).Lo, x))
	}
	if d == len(c.component.Roots)-1 {
		rest = ir.Truth(false)
	}
	end := ir.Choose(rest, ir.Plus(hi[d], ir.Int(1)), hi[d])
	in := e.clone()
	in.ranges = in.ranges.with(root, tree.Range{
		Lo:   l.b.Named(root+"_lo", ir.Choose(atLo, lo[d], all.Lo)),
		Hi:   l.b.Named(root+"_hi", ir.Choose(atHi, end, all.Hi)),
		Clip: true,
	})
	g := &cin.Forall{Var: root, Body: f.Body, Gallop: f.Gallop}
	if d == len(c.component.Roots)-1 {
		g.Unit, g.Race, g.Chunk, g.Unroll = f.Unit, f.Race, f.Chunk, f.Unroll
		return l.forall(g, in, want)
	}
	// Only the loop's extent comes from g. Its body is the loop over the next root.
	g.Body = &cin.Forall{Var: c.component.Roots[d+1], Body: f.Body}
	l.inner(g.Body.(*cin.Forall), func(in *env, want bool) ir.Expr {
		return l.lexicographic(f, in, c, lo, hi, d+1, ir.Both(atLo, ir.Equal(in.coord.at(root), lo[d])),
			ir.Both(atHi, ir.Equal(in.coord.at(root), hi[d])), want)
	})
	return l.serial(g, in, want)
}

// inner registers the function that lowers f, a loop that lowering itself made.
func (l *lowerer) inner(f *cin.Forall, fn func(*env, bool) ir.Expr) {
	if l.hooks == nil {
		l.hooks = map[*cin.Forall]func(*env, bool) ir.Expr{}
	}
	l.hooks[f] = fn
}

// rows lowers f as a walk over rows, if values exist only at the positions of an interval. One
// search finds the row of the first position. The walk ends at the first row that begins after the
// interval.
func (l *lowerer) rows(f *cin.Forall, e *env, c *component, o *openLoops, want bool) ir.Expr {
	p := &loop{l: l, f: f, e: e, want: want}
	var some ir.Expr
	p.inFlag(func() {
		l.b.When(ir.Less(o.iv.lo, o.iv.hi), func() {
			at := o.at
			if at == nil {
				at = e.cur[o.iv.key].Ancestors(o.iv.ancestor, len(c.component.Roots), o.iv.lo)
			}
			kept := l.keepRow(f, e, c)
			kept.walk(func() { some = l.row(f, e, c, o, at, 0, kept, p) })
		})
	}, func() bool { return some == nil || ir.Never(some) })
	if some == nil {
		return ir.Truth(false)
	}
	return p.result(some)
}

// row lowers the loop over root d of a walk over rows. If the next root is the last one, the body
// visits one row at the interval's edge, and then, in an inner loop, the rows after it that are
// entirely inside the interval.
func (l *lowerer) row(f *cin.Forall, e *env, c *component, o *openLoops, at []ir.Expr, d int,
	kept *keptRow, p *loop) ir.Expr {
	root := c.component.Roots[d]
	cur := e.cur[o.iv.key]
	op, k := cur.Of, cur.Level
	lo, hi := l.childRange(cur, e)
	q := l.b.Declare(op.Prefix()+"_p", ir.Greatest(lo, at[d]))
	begins := func(p ir.Expr) ir.Expr {
		for j := d + 1; j < len(c.component.Roots); j++ {
			p = op.Below(k+j-d, p)
		}
		return p
	}
	until := hi
	// the positions are positions of the last level
	if op.HasRepeats(k) && op.Argument.Format.RunEnd(k) >= k+len(c.component.Roots)-1-d {
		until = l.b.Named(op.Prefix()+"_until", ir.Least(hi, o.iv.hi))
	}
	some := ir.Expr(ir.Truth(false))
	next := func(whole bool) {
		x := l.b.Declare(root, cur.CoordAt(0, cur.Pos, q))
		next := *cur
		next.Level, next.Pos, next.End, next.Base = k+1, q, nil, nil
		var run *ir.Var
		if op.HasRepeats(k) {
			run = l.b.Declare(op.Prefix()+"_r", ir.Plus(q, ir.Int(1)))
			l.b.While(ir.Both(ir.Less(run, until), ir.Equal(ir.Coord(op.Crd(k), run), x)),
				func() { l.b.Incr(run, ir.Int(1)) })
			next.End = run
		}
		g := &cin.Forall{Var: root, Body: &cin.Forall{Var: c.component.Roots[d+1], Body: f.Body}}
		if !op.Kind(k).CanLocate() {
			(&loop{l: l, f: g, e: e}).prefetch(&iter{key: o.iv.key, cur: cur, crd: op.Crd(k), p: q,
				padded: op.Kind(k).IsPadded()})
		}
		in := l.bind(e, f.Body, root, x, map[string]*tree.Cursor{o.iv.key: &next})
		l.bindResultAt(g, in)
		inside := func(f *cin.Forall, in *env) ir.Expr {
			if d+1 == len(c.component.Roots)-1 {
				return l.lastRow(f, in, c, o, whole, p)
			}
			if l.assigns(f) { // the rows of the next root may return to values or leave some out
				l.zero(in)
			}
			return l.row(f, in, c, o, at, d+1, kept, p)
		}
		if !whole && kept.fits(f, d, in) {
			some = anyOf(some, kept.row(f, in, inside))
		} else {
			some = anyOf(some, inside(f, in))
		}
		if run != nil {
			l.b.Set(q, run)
		} else {
			l.b.Incr(q, ir.Int(1))
		}
	}
	l.b.While(ir.Both(ir.Less(q, hi), ir.Less(begins(q), o.iv.hi)), func() {
		next(false)
		if d == len(c.component.Roots)-2 && l.hasPlainRows(op, k) {
			l.b.While(ir.Both(ir.Less(q, hi), ir.AtMost(begins(ir.Plus(q, ir.Int(1))), o.iv.hi)),
				func() { next(true) })
		}
	})
	return some
}

// hasPlainRows reports whether a row of level k+1 belongs to one position of level k and ends where
// the next row begins.
func (l *lowerer) hasPlainRows(op *tree.Operand, k int) bool {
	caps := op.Kind(k + 1)
	return !op.HasRepeats(k) && (caps.HasPos() || caps.CanLocate())
}

// lastRow lowers the loop over the last root, which is one row of its level. If whole is true, the
// row is entirely inside the interval. Otherwise only its part inside the interval is visited.
func (l *lowerer) lastRow(f *cin.Forall, e *env, c *component, o *openLoops, whole bool,
	p *loop) ir.Expr {
	root := c.component.Roots[len(c.component.Roots)-1]
	cur := e.cur[o.iv.key]
	lo, hi := cur.Segment()
	in := e.clone()
	owns := l.ownsRows(e, c, cur.Of, cur.Level)
	switch {
	case whole:
		in.parts = in.parts.with(place(o.iv.key, root), [2]ir.Expr{lo, hi})
		if owns {
			in.atomic, in.racing = false, nil
		}
	default:
		in.parts = in.parts.with(place(o.iv.key, root), [2]ir.Expr{
			l.b.Named(root+"_lo", ir.Greatest(lo, o.iv.lo)), l.b.Named(root+"_hi", ir.Least(hi, o.iv.hi))})
		if owns {
			in.own = l.b.Named("own", ir.Both(ir.AtLeast(lo, o.iv.lo), ir.AtLeast(o.iv.hi, hi)))
		}
	}
	g := *f
	g.Var = root
	if whole && l.storedOnce(e, c, cur.Of, cur.Level-len(c.component.Roots)+1,
		len(c.component.Roots)-1) && l.sumsSingleValue(&g, in) {
		in.res.zeroed = l.spec.Adds // otherwise there is nothing to add to
	}
	some := l.forall(&g, in, p.want)
	p.noteAssigned(some)
	return some
}

// storedOnce reports whether each value of a dense result that a row is summed into belongs to this
// row alone. The row must be visited only once, and only one statement may assign to the result.
// The rows are over c's first n variables, whose levels in op start at level first.
func (l *lowerer) storedOnce(e *env, c *component, op *tree.Operand, first, n int) bool {
	if l.out.sparse() || e.private != nil || e.res.tile != nil {
		return false
	}
	only := func(vars ...string) bool {
		return !slices.ContainsFunc(vars,
			func(v string) bool { return !slices.Contains(l.resultVars, v) })
	}
	for j := range n {
		if op.HasRepeats(first + j) {
			return false
		}
	}
	for _, v := range e.coord.names() {
		if !only(v) {
			return false
		}
	}
	for _, top := range e.open.names() {
		if k := l.sched.comps[top]; k != c && !only(k.component.Roots...) {
			return false
		}
	}
	for _, top := range e.counts.names() {
		if k := l.sched.comps[top]; k != c && !only(k.component.Roots...) {
			return false
		}
	}
	assigned := 0
	cin.Walk(l.spec.Stmt, func(s cin.Stmt) {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == l.out.op.Argument.Name {
			assigned++
		}
	})
	return assigned == 1 && only(c.component.Roots[:n]...)
}

// ownsRows reports whether only one thread adds to a row that is entirely inside an interval of
// positions. This requires that the threads race only because they have different intervals of
// component c, and that each row is stored once and has its own places in the result.
func (l *lowerer) ownsRows(e *env, c *component, op *tree.Operand, k int) bool {
	if !e.atomic || e.racing != c || e.private != nil {
		return false
	}
	d := len(c.component.Roots) - 1
	for j, root := range c.component.Roots[:d] {
		if !slices.Contains(l.resultVars, root) || op.HasRepeats(k-d+j) {
			return false
		}
	}
	return true
}

// The positions of a fused space are the positions of the last of its levels. They are in the order
// of the space, so the positions of an interval of points are themselves an interval.

// fusedPositions completes out, an interval of positions of the last fused level under cursor c. If
// out is whole, it gets all positions, otherwise the positions whose coordinates are in out.among.
func (l *lowerer) fusedPositions(out interval, c *tree.Cursor, e *env) interval {
	lo, hi := l.childRange(c, e)
	out.ancestor = append(out.ancestor, lo, hi)
	for k := c.Level + 1; k < c.Level+len(out.roots); k++ {
		lo, hi = c.WherePresent("_all", c.Of.Below(k, lo)),
			c.WherePresent("_end", c.Of.Below(k, hi))
		out.ancestor = append(out.ancestor, lo, hi)
	}
	if !out.whole {
		from, to := l.corners(*out.among, e)
		lo, hi = l.positionOf(c, out, from, hi), l.positionOf(c, out, to, hi)
	}
	out.lo, out.hi, out.all = lo, hi, [2]ir.Expr{lo, hi}
	return out
}

// corners returns the first point of an interval of a fused space, and the first point after it. It
// omits the last coordinates of both points if they are the first coordinates of their variables.
func (l *lowerer) corners(iv interval, e *env) (from, to []ir.Expr) {
	for iv.rows != nil {
		iv = *iv.rows
	}
	if iv.lo == nil { // the whole space
		first := l.rangeOf(e, iv.roots[0])
		return []ir.Expr{first.Lo}, []ir.Expr{first.Hi}
	}
	return l.digits(iv.roots, iv.lo, e), l.digits(iv.roots, iv.hi, e)
}

// positionOf emits a search for the first point that is not before the point with coordinates at.
// It returns the point's position in the last fused level under c, or end if all points are before
// it. It searches one segment of each compressed fused level.
func (l *lowerer) positionOf(c *tree.Cursor, iv interval, at []ir.Expr, end ir.Expr) ir.Expr {
	p := l.b.Declare(c.Of.Prefix()+"_at", end)
	last := len(iv.roots) - 1
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
			q = l.b.Named(c.Of.Prefix()+"_at",
				ir.Least(ir.Minus(ir.Plus(ir.Times(above, c.Of.Size(k)), at[d]), c.Of.Offset(k)), hi))
			next, found = ir.Plus(q, ir.Int(1)), ir.Less(q, hi)
		} else {
			q = l.b.Named(c.Of.Prefix()+"_at", &ir.Search{A: c.Of.Crd(k), Lo: lo, Hi: hi, Key: at[d]})
			next, found = ir.Plus(q, ir.Int(1)),
				ir.Both(ir.Less(q, hi), ir.Equal(ir.Coord(c.Of.Crd(k), q), at[d]))
			if c.Of.HasRepeats(k) {
				next = &ir.Search{A: c.Of.Crd(k), Lo: q, Hi: hi, Key: at[d], Upper: true}
			}
		}
		l.b.Set(p, firstBelow(d, q))
		if d == len(at)-1 {
			return
		}
		l.b.When(found, func() {
			lo, hi := c.Of.Below(k+1, q), c.Of.Below(k+1, next)
			find(d+1, q, l.b.Named(c.Of.Prefix()+"_s", lo), l.b.Named(c.Of.Prefix()+"_e", hi))
		})
	}
	l.b.When(c.Present, func() { find(0, c.Pos, iv.ancestor[0], iv.ancestor[1]) })
	return p
}

// numberAt returns the number of the point at position p, in the space of the levels that are fused
// under c. If p is past the end, it returns the end of iv.among.
func (l *lowerer) numberAt(c *tree.Cursor, iv interval, p ir.Expr, e *env) ir.Expr {
	n := l.b.Declare(iv.roots[0]+"_at", l.counted(*iv.among, e).hi)
	l.b.When(ir.Less(p, iv.all[1]), func() {
		above, x := c.Pos, ir.Expr(ir.Int(0))
		for d, q := range c.Ancestors(iv.ancestor, len(iv.roots), p) {
			b := l.rangeOf(e, iv.roots[d])
			x = ir.Plus(ir.Times(x, ir.Minus(b.Hi, b.Lo)), ir.Minus(c.CoordAt(d, above, q), b.Lo))
			above = q
		}
		l.b.Set(n, x)
	})
	return n
}

// childRange returns the range of the positions of all children in a cursor's next level, which is
// compressed or dense. If the leaf gets only a part of a dense level, the range is this part.
func (l *lowerer) childRange(c *tree.Cursor, e *env) (lo, hi ir.Expr) {
	if !c.Of.Kind(c.Level).CanLocate() {
		return c.Segment()
	}
	size := c.Of.Size(c.Level)
	from, to := ir.Times(c.Pos, size), ir.Times(ir.Plus(c.Pos, ir.Int(1)), size)
	if v := c.Next(); l.spec.Parts[l.sched.g.Original(v)] {
		s := l.rangeOf(e, v)
		base := ir.Minus(from, c.Of.Offset(c.Level))
		from, to = ir.Plus(base, s.Lo), ir.Plus(base, s.Hi)
	}
	return c.WherePresent("_s", from), c.WherePresent("_e", to)
}
