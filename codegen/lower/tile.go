package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// rowTile returns the width of the tiles if s sums a row of the result along its dense last level
// in tiles, or else 0.
func (l *lowerer) rowTile(s cin.Stmt) int64 {
	f, loop := s.(*cin.Forall)
	switch {
	case !loop:
		return l.spec.Strategy.Tiles[s]
	case f.Unit == cin.CPUThread:
		return 0 // the strategy's tiles are for the loops that it is cut into
	}
	return l.spec.Strategy.Tiles[l.source(f)]
}

// unrollAndJam moves a scheduled loop f over the result's dense last level into the loops inside
// it, and returns these loops as s. A tile of the row, of width values, is then summed in
// registers. So the inner loops run once for each tile, and no longer once for each value. The
// terms of each value are added in the same order as before. width is 0 if f is not such a loop, or
// if the strategy leaves it unchanged.
func (l *lowerer) unrollAndJam(f *cin.Forall, e *env) (s cin.Stmt, width int64) {
	k := e.res.level
	if row := l.spec.Strategy.Jam; row.Width == 0 || row.Var != f.Var {
		return nil, 0
	}
	if f.Unit == cin.CPUThread || f.Unit.OnGPU() || f.Unroll != 0 || !l.assigns(f) ||
		e.res.tile != nil || e.res.base == nil ||
		e.atomic || e.private != nil || k != l.out.op.Order()-1 || k <= l.out.deep ||
		l.resultVars[k] != f.Var || !l.lastOfAll(f, f.Var) {
		return nil, 0
	}
	var inner []*cin.Forall
	s = f.Body
	for {
		g, ok := s.(*cin.Forall)
		if !ok {
			break
		}
		if g.Unit != cin.Serial || g.Unroll != 0 || l.loopStrategy(g).Extern != nil {
			return nil, 0
		}
		inner = append(inner, g)
		s = g.Body
	}
	a, ok := s.(*cin.Assign)
	if !ok || !a.Accumulate || len(inner) == 0 {
		return nil, 0
	}
	g := *f
	g.Body = a
	s = &g
	for j := len(inner) - 1; j >= 0; j-- {
		g := *inner[j]
		g.Body = s
		s = &g
	}
	return s, l.spec.Strategy.Jam.Width
}

// lastOfAll reports whether v's level is dense and the last level in each access that has v.
func (l *lowerer) lastOfAll(s cin.Stmt, v string) bool {
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		op := l.ops[a.Name]
		if op == nil {
			return
		}
		for level, u := range l.levelVars(a) {
			if u == v && (level != op.Order()-1 || !op.Kind(level).CanLocate()) {
				ok = false
			}
		}
	})
	return ok
}

// tiled lowers s, which sums a row of the result, tile by tile. Each tile of width values is summed
// in a local array and then stored, or added to the existing values if the row was set to 0 before.
// The rest of the row is summed in place.
func (l *lowerer) tiled(s cin.Stmt, e *env, width int64, want bool) ir.Expr {
	op := l.out.op
	v := l.resultVars[e.res.level]
	all := l.rangeOf(e, v)
	base := e.res.base
	if base == nil {
		panic("BUG: lower: the result's row is not known")
	}
	var flag *ir.Var
	if want {
		flag = ir.NewVar(l.b.Fresh("some_"+v), tensor.Bool)
		l.b.Emit(&ir.Declare{V: flag, Init: ir.Truth(false)})
	}
	some := ir.Expr(ir.Truth(false))
	part := func(in *env) {
		got := l.stmt(s, in, want)
		some = anyOf(some, got)
		if want && !ir.Never(got) {
			l.b.Set(flag, ir.Either(flag, got))
		}
	}

	x := l.b.Var(v + "_tile")
	l.b.Emit(&ir.For{V: x, Lo: all.Lo, Hi: ir.Minus(all.Hi, ir.Int(width-1)), Step: width,
		Body: l.b.Within(func() {
			sums := l.b.Array(op.Prefix()+"_row", l.spec.Compute)
			l.b.Emit(&ir.Local{A: sums, Len: width})
			in := e.clone()
			in.inTile(v, tree.Range{Lo: x, Hi: ir.Plus(x, ir.Int(width)), Width: width})
			in.res = resultCursor{level: e.res.level, zeroed: true, tile: sums}
			part(in)
			l.storeTile(sums, ir.Plus(base, x), width, v, e)
		})})
	n := ir.Minus(all.Hi, all.Lo)
	rest := l.b.Named(v+"_rest", ir.Plus(all.Lo, ir.Times(ir.Over(n, ir.Int(width)), ir.Int(width))))
	l.b.When(ir.Less(rest, all.Hi), func() {
		in := e.clone()
		in.inTile(v, tree.Range{Lo: rest, Hi: all.Hi, Width: -width})
		l.b.When(e.res.unset(), func() {
			l.b.Emit(&ir.Fill{A: l.out.vals(), Lo: ir.Plus(base, rest), Hi: ir.Plus(base, all.Hi),
				X: ir.Zero(l.out.vals().Elem)})
		})
		in.res.zeroed = true
		part(in)
	})
	switch {
	case ir.Never(some):
		return some
	case want:
		return flag
	}
	return ir.Truth(true)
}

// storeTile emits code for the sums of a tile of the row along v, which has width values. It stores
// them at the places from first on, or adds them to the existing values.
func (l *lowerer) storeTile(sums *ir.Array, first ir.Expr, width int64, v string, e *env) {
	a, unset := l.out.vals(), e.res.unset()
	lanes := func(store func(at, x ir.Expr)) func() {
		return func() {
			k := l.b.Var(v + "_lane")
			l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(width), Step: 1, Body: l.b.Within(func() {
				store(ir.Plus(first, k), ir.Convert(a.Elem, ir.At(sums, k)))
			})})
		}
	}
	once := lanes(func(at, x ir.Expr) {
		// a sum of -0 must give 0 here too, as when it is added to values that were set to 0
		if !ir.Always(unset) {
			x = ir.Plus(ir.Zero(a.Elem), x)
		}
		s := &ir.Store{A: a, Index: at, X: x}
		l.lanes.Once[s] = a == l.out.op.Vals()
		l.b.Emit(s)
	})
	add := lanes(func(at, x ir.Expr) { l.b.Emit(&ir.Store{A: a, Index: at, Accumulate: true, X: x}) })
	switch {
	case ir.Always(unset):
		once()
	case ir.Never(unset):
		add()
	default:
		l.b.Emit(&ir.If{Cond: unset, Then: l.b.Within(once), Else: l.b.Within(add)})
	}
}

// inTile makes v's range a tile, or the rest of a row, which has fewer places than a tile.
func (e *env) inTile(v string, s tree.Range) {
	e.ranges = e.ranges.with(v, s)
	e.tiles = e.tiles.with(v, tile{lo: s.Lo, width: max(s.Width, -s.Width)})
}

// rowSpace is a workspace over a variable whose range is a tile: a local array whose places are
// assigned either all or not at all.
type rowSpace struct{ sums *ir.Array }

func (l *lowerer) newRowSpace(t *cin.Access, e *env) *rowSpace {
	w := &rowSpace{l.b.Array(t.Name+"_row", l.spec.Compute)}
	l.b.Emit(&ir.Local{A: w.sums, Len: e.tiles.at(t.Vars[0]).width})
	return w
}

func (w *rowSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	l.b.Emit(&ir.Store{A: w.sums, Index: e.lane(a.Vars[0]), Accumulate: true, X: x})
}

// whereRow lowers a where statement whose temporary t is a row, or one tile of a row, in registers.
// It lowers the consumer for the case that the row has values. If the row has none, code is emitted
// only if the consumer has other terms.
func (l *lowerer) whereRow(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	w := l.newRowSpace(t, e)
	some := l.stmt(s.Producer, e.filling(t.Name, w), true)
	consume := func(pres bool) ir.Expr {
		in := e.clone()
		in.rows = in.rows.with(t.Name, row{w.sums, ir.Truth(pres)})
		return l.stmt(s.Consumer, in, want)
	}
	return l.lowerBothCases(t.Name, some, want, consume)
}
