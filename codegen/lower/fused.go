package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// A fused space is the space of several variables in lexicographic order. An interval of it is
// lowered to nested loops over the variables. The outermost loop runs from the row of the
// interval's start to the row of its end. The inner loops are restricted by the interval in the
// first row and in the last row.

// determineFused lowers the loop that determines fused variables.
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

// inRows reports whether the method rows can lower f.
func (l *lowerer) inRows(f *cin.Forall, e *env, o *openLoops) bool {
	inOrder := l.assigns(f) && l.assembly.inOrder()
	return !inOrder && o.iv.unit == positions && !never(e.cur[o.iv.key].pres) && drivenBy(f, o.iv.key)
}

// findRows searches for the first row of the remaining tile of fused variables before the loop that
// walks it, if loops over other variables are in between. Otherwise each iteration of these loops
// would search again.
func (l *lowerer) findRows(f *cin.Forall, e *env, c *component) {
	o := e.open[c.component.Top]
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
	for k := cur.level + 1; k < cur.level+len(c.component.Roots); k++ {
		if cur.op.caps(k).CanLocate() {
			return // the position would be divided by the level's size, which may be 0
		}
	}
	o.at = l.ancestors(cur, o.iv, len(c.component.Roots), o.iv.lo)
}

// edges returns the coordinates of the point where an interval starts, and of the point before
// which it ends.
func (l *lowerer) edges(c *component, o *openLoops, e *env) (lo, hi []ir.Expr) {
	if o.iv.unit == coords {
		return l.tuples(o.iv, e)
	}
	from, to := l.tuples(*o.iv.among, e)
	cur := e.cur[o.iv.key]
	if o.iv.whole {
		return from, to
	}
	if never(cur.pres) {
		for d := range from {
			from[d] = l.named(c.component.Roots[d]+"_edge", ir.Choose(o.iv.first, from[d], to[d]))
		}
		return from, to
	}
	at := func(p ir.Expr, past []ir.Expr) []ir.Expr {
		out := make([]*ir.Var, len(c.component.Roots))
		for d := range out {
			out[d] = l.declare(c.component.Roots[d]+"_edge", past[d])
		}
		l.when(ir.Less(p, o.iv.all[1]), func() {
			above := cur.pos
			for d, q := range l.ancestors(cur, o.iv, len(c.component.Roots), p) {
				l.set(out[d], l.coordAt(cur, d, above, q))
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
		lo[d] = l.named(c.component.Roots[d]+"_edge", ir.Choose(o.iv.first, from[d], lo[d]))
	}
	return lo, hi
}

// tuples returns the point where an interval of a fused space starts, and the point before which it
// ends.
func (l *lowerer) tuples(iv interval, e *env) (from, to []ir.Expr) {
	from, to = l.corners(iv, e)
	for _, r := range iv.roots[len(from):] {
		from, to = append(from, l.rangeOf(e, r).lo), append(to, l.rangeOf(e, r).lo)
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
// roots. atLo and atHi are conditions that all roots before d have the coordinates of lo or hi.
// Only then does lo or hi limit the loop; otherwise it runs over the whole range of d.
func (l *lowerer) lexicographic(f *cin.Forall, e *env, c *component, lo, hi []ir.Expr, d int, atLo,
	atHi ir.Expr, want bool) ir.Expr {
	root := c.component.Roots[d]
	all := l.rangeOf(e, root)
	rest := ir.Expr(ir.Truth(false)) // whether the last row has any points
	for k, x := range hi[d+1:] {
		rest = ir.Either(rest, ir.Less(l.rangeOf(e, c.component.Roots[d+1+k]).lo, x))
	}
	if d == len(c.component.Roots)-1 {
		rest = ir.Truth(false)
	}
	end := ir.Choose(rest, ir.Plus(hi[d], ir.Int(1)), hi[d])
	in := e.clone()
	in.ranges[root] = coordRange{
		lo:   l.named(root+"_lo", ir.Choose(atLo, lo[d], all.lo)),
		hi:   l.named(root+"_hi", ir.Choose(atHi, end, all.hi)),
		clip: true,
	}
	g := &cin.Forall{Var: root, Body: f.Body, Gallop: f.Gallop}
	if d == len(c.component.Roots)-1 {
		g.Unit, g.Race, g.Chunk, g.Unroll = f.Unit, f.Race, f.Chunk, f.Unroll
		return l.forall(g, in, want)
	}
	// Only the loop's extent comes from g. Its body is the loop over the next root.
	g.Body = &cin.Forall{Var: c.component.Roots[d+1], Body: f.Body}
	l.inner(g.Body.(*cin.Forall), func(in *env, want bool) ir.Expr {
		return l.lexicographic(f, in, c, lo, hi, d+1, ir.Both(atLo, ir.Equal(in.coord[root], lo[d])),
			ir.Both(atHi, ir.Equal(in.coord[root], hi[d])), want)
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

// rows lowers an interval of positions of a level, if values exist only at these positions. It
// walks the rows from the one that has the first position, which one search finds, while they begin
// before the interval's end.
func (l *lowerer) rows(f *cin.Forall, e *env, c *component, o *openLoops, want bool) ir.Expr {
	p := &loop{f: f, e: e, want: want}
	var some ir.Expr
	l.inFlag(p, func() {
		l.when(ir.Less(o.iv.lo, o.iv.hi), func() {
			at := o.at
			if at == nil {
				at = l.ancestors(e.cur[o.iv.key], o.iv, len(c.component.Roots), o.iv.lo)
			}
			kept := l.keepRow(f, e, c)
			kept.walk(func() { some = l.row(f, e, c, o, at, 0, kept, p) })
		})
	}, func() bool { return some == nil || never(some) })
	if some == nil {
		return ir.Truth(false)
	}
	return p.result(some)
}

// row lowers the loop over root d of rows. If the next root is the last one, the rows that follow a
// row at the edge of the interval run in a loop of their own, while they are entirely inside the
// interval.
func (l *lowerer) row(f *cin.Forall, e *env, c *component, o *openLoops, at []ir.Expr, d int,
	kept *keptRow, p *loop) ir.Expr {
	root := c.component.Roots[d]
	cur := e.cur[o.iv.key]
	op, k := cur.op, cur.level
	lo, hi := l.childRange(cur, e)
	q := l.declare(op.prefix()+"_p", ir.Greatest(lo, at[d]))
	begins := func(p ir.Expr) ir.Expr {
		for j := d + 1; j < len(c.component.Roots); j++ {
			p = l.below(op, k+j-d, p)
		}
		return p
	}
	until := hi
	// the positions are positions of the last level
	if op.hasRepeats(k) && op.operand.Format.RunEnd(k) >= k+len(c.component.Roots)-1-d {
		until = l.named(op.prefix()+"_until", ir.Least(hi, o.iv.hi))
	}
	some := ir.Expr(ir.Truth(false))
	next := func(whole bool) {
		x := l.declare(root, l.coordAt(cur, 0, cur.pos, q))
		next := *cur
		next.level, next.pos, next.end, next.base = k+1, q, nil, nil
		var run *ir.Var
		if op.hasRepeats(k) {
			run = l.declare(op.prefix()+"_r", ir.Plus(q, ir.Int(1)))
			l.while(ir.Both(ir.Less(run, until), ir.Equal(ir.Coord(op.crd(k), run), x)),
				func() { l.incr(run, ir.Int(1)) })
			next.end = run
		}
		g := &cin.Forall{Var: root, Body: &cin.Forall{Var: c.component.Roots[d+1], Body: f.Body}}
		if !op.caps(k).CanLocate() {
			l.prefetch(&loop{f: g, e: e},
				&iter{key: o.iv.key, cur: cur, crd: op.crd(k), p: q, padded: op.caps(k).IsPadded()})
		}
		in := l.bind(e, f.Body, root, x, map[string]*cursor{o.iv.key: &next})
		l.bindResultAt(g, in)
		inside := func(f *cin.Forall) ir.Expr {
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
			some = anyOf(some, inside(f))
		}
		if run != nil {
			l.set(q, run)
		} else {
			l.incr(q, ir.Int(1))
		}
	}
	l.while(ir.Both(ir.Less(q, hi), ir.Less(begins(q), o.iv.hi)), func() {
		next(false)
		if d == len(c.component.Roots)-2 && l.hasPlainRows(op, k) {
			l.while(ir.Both(ir.Less(q, hi), ir.AtMost(begins(ir.Plus(q, ir.Int(1))), o.iv.hi)),
				func() { next(true) })
		}
	})
	return some
}

// hasPlainRows reports whether a row of level k+1 belongs to one position of level k and ends where
// the next row begins.
func (l *lowerer) hasPlainRows(op *operand, k int) bool {
	caps := op.caps(k + 1)
	return !op.hasRepeats(k) && (caps.HasPos() || caps.CanLocate())
}

// lastRow lowers the loop over the last root, which is one row of its level. If whole is true, the
// row is entirely inside the interval. Otherwise only its part inside the interval is visited.
func (l *lowerer) lastRow(f *cin.Forall, e *env, c *component, o *openLoops, whole bool,
	p *loop) ir.Expr {
	root := c.component.Roots[len(c.component.Roots)-1]
	cur := e.cur[o.iv.key]
	lo, hi := l.segment(cur)
	in := e.clone()
	owns := l.ownsRows(e, c, cur.op, cur.level)
	switch {
	case whole:
		in.parts[place(o.iv.key, root)] = [2]ir.Expr{lo, hi}
		if owns {
			in.atomic, in.racing = false, nil
		}
	default:
		in.parts[place(o.iv.key, root)] = [2]ir.Expr{
			l.named(root+"_lo", ir.Greatest(lo, o.iv.lo)), l.named(root+"_hi", ir.Least(hi, o.iv.hi))}
		if owns {
			in.own = l.named("own", ir.Both(ir.AtLeast(lo, o.iv.lo), ir.AtLeast(o.iv.hi, hi)))
		}
	}
	g := *f
	g.Var = root
	if whole && l.storedOnce(e, c, cur.op, cur.level-len(c.component.Roots)+1,
		len(c.component.Roots)-1) && l.sumsSingleValue(&g, in) {
		in.res.zeroed = l.spec.Adds // otherwise there is nothing to add to
	}
	some := l.forall(&g, in, p.want)
	l.noteAssigned(p, some)
	return some
}

// storedOnce reports whether each value of a dense result that a row sums belongs to this row
// alone. The row must be visited only once, in the only statement that assigns to the result. Rows
// are over c's first n variables, whose levels in op start at first.
func (l *lowerer) storedOnce(e *env, c *component, op *operand, first, n int) bool {
	if l.out.sparse() || e.private != nil || e.res.tile != nil {
		return false
	}
	only := func(vars ...string) bool {
		return !slices.ContainsFunc(vars,
			func(v string) bool { return !slices.Contains(l.resultVars, v) })
	}
	for j := range n {
		if op.hasRepeats(first + j) {
			return false
		}
	}
	for v := range e.coord {
		if !only(v) {
			return false
		}
	}
	for top := range e.open {
		if k := l.sched.comps[top]; k != c && !only(k.component.Roots...) {
			return false
		}
	}
	for top := range e.counts {
		if k := l.sched.comps[top]; k != c && !only(k.component.Roots...) {
			return false
		}
	}
	assigned := 0
	cin.Walk(l.spec.Stmt, func(s cin.Stmt) {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == l.out.op.operand.Name {
			assigned++
		}
	})
	return assigned == 1 && only(c.component.Roots[:n]...)
}

// ownsRows reports whether a row that is inside an interval of positions belongs only to the thread
// that runs the interval. The racing threads must be divided only by intervals of this component,
// and each row must be stored once and have its own places in the result.
func (l *lowerer) ownsRows(e *env, c *component, op *operand, k int) bool {
	if !e.atomic || e.racing != c || e.private != nil {
		return false
	}
	d := len(c.component.Roots) - 1
	for j, root := range c.component.Roots[:d] {
		if !slices.Contains(l.resultVars, root) || op.hasRepeats(k-d+j) {
			return false
		}
	}
	return true
}
