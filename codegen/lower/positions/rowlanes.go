package positions

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
)

// rowLanes is a loop over a tile of positions that sums into rows. It runs on the threads of a
// GPU's block or warp. The rows that have a part in the tile are consecutive, so a loop can run
// over them. If the tile has many rows, each thread sums whole rows. If the tile has few rows, the
// lanes of a warp sum each row together, because most threads would otherwise be idle.
type rowLanes struct {
	tile *placeLoop
	a    *cin.Assign
	row  int         // index of the rows' variable among the fused variables
	temp *cin.Access // the sum of a row
	// alone is true if no two rows add to the same place of the result. stored is true if, in
	// addition, nothing else adds to the place.
	alone, stored bool
}

// ShareRows lowers f, which sums the values of a tile into rows. Each thread sums whole rows if the
// tile has at least n rows. Otherwise the lanes of a warp share each row.
func ShareRows(f *cin.Forall, e *scope.Env, o *scope.OpenLoops, n int64) {
	c := o.Of
	l := e.Leaf
	cur := e.Cur[o.Iv.Key]
	a, ok := f.Body.(*cin.Assign)
	if o.Iv.Unit != scope.Positions || cur == nil || !ok || e.Private != nil || e.Res.Tile != nil ||
		!valuedAtAll(a, o.Iv.Key, e) {
		l.Refuse(f.Var, "the loop over %s must do nothing but add a value of each stored entry to a "+
			"row", f.Var)
	}
	e = merge.Zero(e)
	if ir.IsFalse(cur.Present) {
		return
	}
	r := &rowLanes{tile: &placeLoop{f, e, c, cur, o.Iv, readPlaces(e, cur.Of),
		rootsRead(l, a, c, o.Iv.Key)}, a: a, temp: &cin.Access{Name: l.B.Fresh("sum")}}
	for d := range len(c.Roots) - 1 {
		if r.needs(d) {
			r.row = d
		}
	}
	rows := c.Roots[:r.row+1]
	r.alone = !slices.ContainsFunc(rows,
		func(v string) bool { return !slices.Contains(l.ResultVars, v) })
	r.stored = r.alone && units.StoredOnce(e, c, cur.Of, cur.Level, len(rows))
	if !r.alone && l.Out.Op.Argument.Type.IsComplex() {
		l.Refuse(f.Var,
			"rows of %s add to the same elements of %s, and a GPU cannot add complex numbers "+
				"atomically", rows[r.row], a.LHS.Key())
	}
	// A tile without entries may have empty rows to store.
	visits := ir.Either(ir.Truth(o.Iv.AllRows), ir.Less(o.Iv.Lo, o.Iv.Hi))
	l.B.When(visits, func() {
		lo, hi := r.rows()
		many := ir.AtLeast(ir.Minus(hi, lo), ir.Int(n))
		l.B.Choose(many, func() { r.byThreads(lo, hi) }, func() { r.byLanes(lo, hi) })
	})
}

// needs reports whether code must load the coordinate of the component's variable number d, because
// the loop's body or the target of the assignment reads it.
func (r *rowLanes) needs(d int) bool {
	return r.tile.reads[d] || slices.Contains(r.a.LHS.Vars, r.tile.c.Roots[d])
}

// needsAbove reports whether a coordinate of a level above the rows is needed.
func (r *rowLanes) needsAbove() bool {
	for d := range r.row {
		if r.needs(d) {
			return true
		}
	}
	return false
}

// rows returns a range of rows, as positions of the rows' level. Every row with an entry in the
// tile is in the range. Rows without entries may also be in the range.
func (r *rowLanes) rows() (lo, hi ir.Expr) {
	l, d := r.tile.e.Leaf, r.row
	name := r.tile.c.Roots[d]
	if r.tile.iv.RowsKnown && r.tile.cur.Of.Kind(r.tile.cur.Level+d+1).HasPos() {
		_, end := bounds.ChildRange(r.tile.cur, r.tile.e)
		end = r.tile.cur.Of.DownTo(r.tile.cur.Level+1, r.tile.cur.Level+d, end)
		return r.tile.iv.Ancestor[2*d],
			l.B.Named(name+"_rows", ir.Least(ir.Plus(r.tile.iv.Ancestor[2*d+1], ir.Int(1)), end))
	}
	holds := func(p ir.Expr) ir.Expr {
		return r.tile.cur.Ancestors(r.tile.iv.Ancestor, len(r.tile.c.Roots), p)[d]
	}
	lo = l.B.Named(name+"_row", holds(r.tile.iv.Lo))
	return lo, l.B.Named(name+"_rows", ir.Plus(holds(ir.Minus(r.tile.iv.Hi, ir.Int(1))), ir.Int(1)))
}

// byThreads emits the loop over rows. Each thread sums one row at a time.
func (r *rowLanes) byThreads(lo, hi ir.Expr) {
	width := int64(ir.WarpSize)
	if r.tile.e.Warps == 0 {
		width = laneWidth(r.tile.e.Leaf, r.tile.f)
	}
	r.rowLoop(lo, hi, &ir.For{Kind: ir.Lanes, Width: width}, ir.For{})
}

// byLanes emits the loop over rows. Each warp sums one row at a time.
func (r *rowLanes) byLanes(lo, hi ir.Expr) {
	lanes := ir.For{Kind: ir.Lanes, Width: ir.WarpSize}
	if r.tile.e.Warps > 0 {
		r.rowLoop(lo, hi, &ir.For{}, lanes)
		return
	}
	r.rowLoop(lo, hi, &ir.For{Kind: ir.Warps,
		Width: laneWidth(r.tile.e.Leaf, r.tile.f) / ir.WarpSize}, lanes)
}

// rowLoop emits a loop over the rows [lo, hi). template is this loop without its variable, bounds
// and body. places is such a template for the inner loop over the values of a row (see sum).
func (r *rowLanes) rowLoop(lo, hi ir.Expr, template *ir.For, places ir.For) {
	l := r.tile.e.Leaf
	q := l.B.Var(r.tile.cur.Of.Prefix() + "_p")
	template.V, template.Lo, template.Hi, template.Step = q, lo, hi, 1
	l.Lanes.Over[template] = r.tile.f.Var
	template.Body = l.B.InScope(func() { r.sum(q, places) })
	l.B.Emit(template)
}

// sum emits a loop over the values of row q that are in the tile, and code that adds their sum to
// the result. places is the loop without its bounds and body. Its kind says how it runs, for
// example on the lanes of a warp.
func (r *rowLanes) sum(q ir.Expr, places ir.For) {
	l, name := r.tile.e.Leaf, r.tile.c.Roots[len(r.tile.c.Roots)-1]
	begin := l.B.Named(name+"_begin", r.first(q))
	end := l.B.Named(name+"_end", r.first(ir.Plus(q, ir.Int(1))))
	lo := l.B.Named(name+"_lo", ir.Greatest(begin, r.tile.iv.Lo))
	hi := l.B.Named(name+"_hi", ir.Least(end, r.tile.iv.Hi))
	if r.tile.iv.AllRows {
		l.B.When(ir.Equal(begin, end), func() { storeZero(r.inRow(q)) })
	}
	l.B.When(ir.Less(lo, hi), func() {
		in := r.inRow(q)
		sum := l.B.Local(r.temp.Name, ir.Zero(l.Spec.Compute))
		p := l.B.Var(r.tile.cur.Of.Prefix() + "_p")
		places.V, places.Lo, places.Hi, places.Step = p, lo, hi, 1
		places.Body = l.B.Within(func() {
			l.Stmt(&cin.Assign{LHS: r.temp, Accumulate: true, RHS: r.a.RHS},
				r.tile.in(in, p).Summing(r.temp.Name, sum), false)
		})
		if places.Kind == ir.Lanes {
			places.Reduce = []*ir.Var{sum}
		}
		l.Lanes.Over[&places] = r.tile.f.Var
		l.B.Emit(&places)
		in.Temps = in.Temps.With(r.temp.Name, scope.Value{Pres: ir.Truth(true), V: sum, Zeroed: true})
		r.store(in, ir.Both(ir.AtLeast(begin, r.tile.iv.Lo), ir.AtLeast(r.tile.iv.Hi, end)))
	})
}

// first returns the first position in row q.
func (r *rowLanes) first(q ir.Expr) ir.Expr {
	p := r.tile
	return p.cur.Of.DownTo(p.cur.Level+r.row+1, p.cur.Level+len(p.c.Roots)-1, q)
}

// inRow returns the environment of row q, with the coordinates that the sum and its addition to the
// result need.
func (r *rowLanes) inRow(q ir.Expr) *scope.Env {
	p, in := r.tile, r.tile.e.Clone()
	at := make([]ir.Expr, r.row+1)
	at[r.row] = q
	if r.row > 0 && (p.cur.Of.Kind(p.cur.Level+r.row).CanLocate() || r.needsAbove()) {
		at = p.cur.Ancestors(p.iv.Ancestor, r.row+1, q)
	}
	p.bind(in, at, r.needs)
	cin.ExprAccesses(r.a.RHS, func(x *cin.Access) {
		if x.Key() != r.tile.iv.Key {
			in.Cur[x.Key()] = in.Enter(in.Cur[x.Key()])
		}
	})
	merge.EnterResult(in)
	return in
}

// store emits code that adds the sum of a row to its place in the result. The addition is atomic if
// other threads may add to the same place. whole is the condition that the whole row is in the
// tile. The code stores the sum without reading the old value if whole is true, nothing else adds
// to the place, and the leaf does not add to existing values.
func (r *rowLanes) store(in *scope.Env, whole ir.Expr) {
	l := r.tile.e.Leaf
	add := func(atomic, whole bool) {
		in := in.Clone()
		in.Atomic, in.Racing, in.Own = atomic, nil, nil
		if whole && r.stored {
			in.Res.Zeroed = l.Spec.Adds // otherwise there is nothing to add to
		}
		l.Stmt(&cin.Assign{LHS: r.a.LHS, Accumulate: true, RHS: r.temp}, in, false)
	}
	switch {
	case !r.alone || r.tile.e.Atomic && r.tile.e.Racing != r.tile.c:
		add(true, false)
	case r.stored || r.tile.e.Atomic:
		l.B.Choose(whole, func() { add(false, true) }, func() { add(r.tile.e.Atomic, false) })
	default:
		add(false, false)
	}
}

// laneWidth returns the number of threads of a block that run f. This is the largest number of
// threads of another loop of the statement, or units.BlockThreads if no other loop runs on threads.
func laneWidth(l *scope.Leaf, f *cin.Forall) int64 {
	width := int64(0)
	cin.Walk(l.Spec.Stmt, func(s cin.Stmt) {
		if g, ok := s.(*cin.Forall); ok && g.Unit == cin.GPUThread && g.Var != f.Var {
			width = max(width, units.ThreadsFor(l.Graph.MaxValues(g.Var)))
		}
	})
	if width == 0 {
		return units.BlockThreads
	}
	return width
}
