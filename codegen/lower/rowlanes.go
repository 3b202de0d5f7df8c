package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// rowLanes is a loop over a tile of positions that sums into rows. It runs on the threads of a
// GPU's block or warp. The rows that have a part in the tile are consecutive, so they can be the
// iterations of a loop. If the tile has many rows, each thread sums whole rows. If it has few, most
// threads would be idle, and the lanes of a warp sum each row together instead.
type rowLanes struct {
	placeLoop *placeLoop
	a         *cin.Assign
	row       int         // index of the rows' variable among the fused variables
	temp      *cin.Access // the sum of a row
	// alone is true if no two rows add to the same place of the result. stored is true if, in
	// addition, nothing else adds to the place.
	alone, stored bool
}

// shareRows lowers f, which sums the values of a tile into rows. Each thread sums whole rows if the
// tile has at least n rows. Otherwise the lanes of a warp share each row.
func (l *lowerer) shareRows(f *cin.Forall, e *env, c *component, o *openLoops, n int64) {
	cur := e.cur[o.iv.key]
	a, ok := f.Body.(*cin.Assign)
	if o.iv.unit != positions || cur == nil || !ok || e.private != nil || e.res.tile != nil ||
		!l.valuedAtAll(a, o.iv.key) {
		l.refuse(f.Var, "the loop over %s must only sum values at positions into rows", f.Var)
	}
	l.zero(e)
	if ir.Never(cur.Present) {
		return
	}
	r := &rowLanes{placeLoop: &placeLoop{l, f, e, c, cur, o.iv, l.positionSpaces[cur.Of],
		l.rootsRead(a, c, o.iv.key)}, a: a, temp: &cin.Access{Name: l.b.Fresh("sum")}}
	for d := range len(c.component.Roots) - 1 {
		if r.needs(d) {
			r.row = d
		}
	}
	rows := c.component.Roots[:r.row+1]
	r.alone = !slices.ContainsFunc(rows,
		func(v string) bool { return !slices.Contains(l.resultVars, v) })
	r.stored = r.alone && l.storedOnce(e, c, cur.Of, cur.Level, len(rows))
	if !r.alone && l.out.op.Argument.Type.IsComplex() {
		l.refuse(f.Var,
			"rows of %s add to the same elements of %s, and a GPU cannot add complex numbers "+
				"atomically",
			rows[r.row], a.LHS.Key())
	}
	l.b.When(ir.Less(o.iv.lo, o.iv.hi), func() {
		lo, hi := r.rows()
		many := ir.AtLeast(ir.Minus(hi, lo), ir.Int(n))
		l.b.Emit(&ir.If{Cond: many, Then: l.b.Within(func() { r.byThreads(lo, hi) }),
			Else: l.b.Within(func() { r.byLanes(lo, hi) })})
	})
}

// needs reports whether the coordinate of the component's variable number d is needed.
func (r *rowLanes) needs(d int) bool {
	return r.placeLoop.reads[d] || slices.Contains(r.a.LHS.Vars, r.placeLoop.c.component.Roots[d])
}

// rows returns the range of positions of the rows that have a part in the tile.
func (r *rowLanes) rows() (lo, hi ir.Expr) {
	l, d := r.placeLoop.l, r.row
	name := r.placeLoop.c.component.Roots[d]
	if r.placeLoop.iv.rowsKnown && r.placeLoop.cur.Of.Kind(r.placeLoop.cur.Level+d+1).HasPos() {
		_, end := l.childRange(r.placeLoop.cur, r.placeLoop.e)
		for k := 1; k <= d; k++ {
			end = r.placeLoop.cur.Of.Below(r.placeLoop.cur.Level+k, end)
		}
		return r.placeLoop.iv.ancestor[2*d],
			l.b.Named(name+"_rows", ir.Least(ir.Plus(r.placeLoop.iv.ancestor[2*d+1], ir.Int(1)), end))
	}
	holds := func(p ir.Expr) ir.Expr {
		return r.placeLoop.cur.Ancestors(r.placeLoop.iv.ancestor, len(r.placeLoop.c.component.Roots),
			p)[d]
	}
	lo = l.b.Named(name+"_row", holds(r.placeLoop.iv.lo))
	return lo, l.b.Named(name+"_rows", ir.Plus(holds(ir.Minus(r.placeLoop.iv.hi, ir.Int(1))),
		ir.Int(1)))
}

// byThreads emits the loop over rows. Each thread sums one row at a time.
func (r *rowLanes) byThreads(lo, hi ir.Expr) {
	width := int64(ir.WarpSize)
	if r.placeLoop.l.warps == 0 {
		width = r.placeLoop.l.laneWidth(r.placeLoop.f)
	}
	r.over(lo, hi, &ir.For{Kind: ir.Lanes, Width: width}, ir.For{})
}

// byLanes emits the loop over rows. Each warp sums one row at a time.
func (r *rowLanes) byLanes(lo, hi ir.Expr) {
	lanes := ir.For{Kind: ir.Lanes, Width: ir.WarpSize}
	if r.placeLoop.l.warps > 0 {
		r.over(lo, hi, &ir.For{}, lanes)
		return
	}
	r.placeLoop.l.warps++
	r.over(lo, hi, &ir.For{Kind: ir.Warps,
		Width: r.placeLoop.l.laneWidth(r.placeLoop.f) / ir.WarpSize}, lanes)
	r.placeLoop.l.warps--
}

// over emits a loop over rows. s has the kind of this loop, and places has the kind of the loops
// over places inside it.
func (r *rowLanes) over(lo, hi ir.Expr, s *ir.For, places ir.For) {
	l := r.placeLoop.l
	q := l.b.Var(r.placeLoop.cur.Of.Prefix() + "_p")
	s.V, s.Lo, s.Hi, s.Step = q, lo, hi, 1
	l.lanes.Over[s] = r.placeLoop.f.Var
	s.Body = l.b.InScope(func() { r.sum(q, places) })
	l.b.Emit(s)
}

// sum sums the places of row q that are in the tile, and adds the sum to the result.
func (r *rowLanes) sum(q ir.Expr, places ir.For) {
	l, name := r.placeLoop.l, r.placeLoop.c.component.Roots[len(r.placeLoop.c.component.Roots)-1]
	begin := l.b.Named(name+"_begin", r.first(q))
	end := l.b.Named(name+"_end", r.first(ir.Plus(q, ir.Int(1))))
	lo := l.b.Named(name+"_lo", ir.Greatest(begin, r.placeLoop.iv.lo))
	hi := l.b.Named(name+"_hi", ir.Least(end, r.placeLoop.iv.hi))
	l.b.When(ir.Less(lo, hi), func() {
		in := r.inRow(q)
		sum := ir.NewVar(l.b.Fresh(r.temp.Name), l.spec.Compute)
		l.b.Emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
		p := l.b.Var(r.placeLoop.cur.Of.Prefix() + "_p")
		places.V, places.Lo, places.Hi, places.Step = p, lo, hi, 1
		places.Body = l.b.Within(func() {
			l.stmt(&cin.Assign{LHS: r.temp, Accumulate: true, RHS: r.a.RHS},
				r.placeLoop.in(in, p).summing(r.temp.Name, sum), false)
		})
		if places.Kind == ir.Lanes {
			places.Reduce = []*ir.Var{sum}
		}
		l.lanes.Over[&places] = r.placeLoop.f.Var
		l.b.Emit(&places)
		in.temps = in.temps.with(r.temp.Name, value{pres: ir.Truth(true), v: sum, zeroed: true})
		r.store(in, ir.Both(ir.AtLeast(begin, r.placeLoop.iv.lo), ir.AtLeast(r.placeLoop.iv.hi, end)))
	})
}

// first returns the first position in row q.
func (r *rowLanes) first(q ir.Expr) ir.Expr {
	for d := r.row + 1; d < len(r.placeLoop.c.component.Roots); d++ {
		q = r.placeLoop.cur.Of.Below(r.placeLoop.cur.Level+d, q)
	}
	return q
}

// inRow returns the environment of row q, with the coordinates that the sum and its addition to the
// result need.
func (r *rowLanes) inRow(q ir.Expr) *env {
	l, in := r.placeLoop.l, r.placeLoop.e.clone()
	at := make([]ir.Expr, r.row+1)
	at[r.row] = q
	if r.row > 0 && (r.placeLoop.cur.Of.Kind(r.placeLoop.cur.Level+r.row).CanLocate() ||
		slices.ContainsFunc(r.placeLoop.c.component.Roots[:r.row],
			func(v string) bool { return r.needs(slices.Index(r.placeLoop.c.component.Roots, v)) })) {
		at = r.placeLoop.cur.Ancestors(r.placeLoop.iv.ancestor, r.row+1, q)
	}
	above := r.placeLoop.cur.Pos
	for d, p := range at {
		if r.needs(d) {
			in.coord = in.coord.with(r.placeLoop.c.component.Roots[d],
				l.b.Named(r.placeLoop.c.component.Roots[d], r.placeLoop.cur.CoordAt(d, above, p)))
		}
		above = p
	}
	cin.ExprAccesses(r.a.RHS, func(x *cin.Access) {
		if x.Key() != r.placeLoop.iv.key {
			in.cur[x.Key()] = l.enter(in.cur[x.Key()], in)
		}
	})
	l.enterResult(in)
	return in
}

// store adds a row's sum to its place in the result. The addition is atomic if others may add to
// the same place. If the whole row is in the tile and nothing else adds to the place, the place is
// not read.
func (r *rowLanes) store(in *env, whole ir.Expr) {
	l := r.placeLoop.l
	add := func(atomic, whole bool) {
		in := in.clone()
		in.atomic, in.racing, in.own = atomic, nil, nil
		if whole && r.stored {
			in.res.zeroed = l.spec.Adds // otherwise there is nothing to add to
		}
		l.stmt(&cin.Assign{LHS: r.a.LHS, Accumulate: true, RHS: r.temp}, in, false)
	}
	switch {
	case !r.alone || r.placeLoop.e.atomic && r.placeLoop.e.racing != r.placeLoop.c:
		add(true, false)
	case r.stored || r.placeLoop.e.atomic:
		l.b.Emit(&ir.If{Cond: whole, Then: l.b.Within(func() { add(false, true) }),
			Else: l.b.Within(func() { add(r.placeLoop.e.atomic, false) })})
	default:
		add(false, false)
	}
}

// laneWidth returns the number of threads of a block that run f: the same number as for other loops
// of the statement.
func (l *lowerer) laneWidth(f *cin.Forall) int64 {
	width := int64(0)
	cin.Walk(l.spec.Stmt, func(s cin.Stmt) {
		if g, ok := s.(*cin.Forall); ok && g.Unit == cin.GPUThread && g.Var != f.Var {
			width = max(width, threadsFor(l.sched.g.Most(g.Var)))
		}
	})
	if width == 0 {
		return blockThreads
	}
	return width
}
