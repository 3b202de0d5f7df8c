package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// rowTile returns the width of the tiles if s sums a row of the result in tiles, and 0 otherwise.
// The row runs along the last level of the result, which is dense.
func (l *lowerer) rowTile(s cin.Stmt) int64 {
	f, loop := s.(*cin.Forall)
	switch {
	case !loop:
		return l.spec.Strategy.Tiles[s]
	case f.Unit == cin.CPUThread:
		return 0 // the strategy's tiles are for the loops that it is cut into
	}
	return l.spec.Strategy.Tiles[l.leaf.Source(f)]
}

// unrollAndJam moves loop f, which runs over the result's dense last level, into the loops inside
// f. s is the new nest. Its loops run once for each tile of width values, and no longer once for
// each value, and a tile is summed in registers. The terms of each value are added in the same
// order as before. If f is not such a loop, or if the strategy leaves it unchanged, unrollAndJam
// returns nil, 0.
func (l *lowerer) unrollAndJam(f *cin.Forall, e *scope.Env) (s cin.Stmt, width int64) {
	k := e.Res.Level
	if row := l.spec.Strategy.Jam; row.Width == 0 || row.Var != f.Var {
		return nil, 0
	}
	if f.Unit == cin.CPUThread || f.Unit.OnGPU() || f.Unroll != 0 || !l.leaf.Assigns(f) ||
		e.Res.Tile != nil || e.Res.Base == nil ||
		e.Atomic || e.Private != nil || k != l.leaf.Out.Op.Order()-1 || k <= l.leaf.Out.Deep ||
		l.leaf.ResultVars[k] != f.Var || !lastOfAll(f, f.Var, e) {
		return nil, 0
	}
	var inner []*cin.Forall
	s = f.Body
	for {
		g, ok := s.(*cin.Forall)
		if !ok {
			break
		}
		if g.Unit != cin.Serial || g.Unroll != 0 || l.leaf.LoopStrategy(g).Extern != nil {
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

// lastOfAll reports whether, in each access of s that has the variable v, the level of v is dense
// and is the operand's last level.
func lastOfAll(s cin.Stmt, v string, e *scope.Env) bool {
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		c := e.Cur[a.Key()]
		if c == nil || c.Of == nil {
			return
		}
		for level, u := range c.Vars {
			if u == v && (level != c.Of.Order()-1 || !c.Of.Kind(level).CanLocate()) {
				ok = false
			}
		}
	})
	return ok
}

// tiled lowers s, which sums a row of the result, tile by tile. Each tile of width values is summed
// in a local array and then stored, or added to the existing values if the row has values already.
// The rest of the row is summed in place.
func (l *lowerer) tiled(s cin.Stmt, e *scope.Env, width int64, want bool) ir.Expr {
	op := l.leaf.Out.Op
	v := l.leaf.ResultVars[e.Res.Level]
	all := e.RangeOf(v)
	base := e.Res.Base
	if base == nil {
		panic("BUG: lower: the result's row is not known")
	}
	p := &merge.Loop{F: &cin.Forall{Var: v}, E: e, Want: want, Body: l.body(s)}
	return p.Collect(nil, func() ir.Expr {
		some := ir.Expr(ir.Truth(false))
		part := func(in *scope.Env) { some = scope.AnyOf(some, p.RunBody(in)) }
		x := l.b.Var(v + "_tile")
		l.b.Emit(&ir.For{V: x, Lo: all.Lo, Hi: ir.Minus(all.Hi, ir.Int(width-1)), Step: width,
			Body: l.b.Within(func() {
				sums := l.b.Array(op.Prefix()+"_row", l.spec.Compute)
				l.b.Emit(&ir.Local{A: sums, Len: width})
				in := e.Clone()
				in.InTile(v, tree.Range{Lo: x, Hi: ir.Plus(x, ir.Int(width)), Width: width})
				in.Res = scope.ResultCursor{Level: e.Res.Level, Zeroed: true, Tile: sums}
				part(in)
				l.storeTile(sums, ir.Plus(base, x), width, v, e)
			})})
		n := ir.Minus(all.Hi, all.Lo)
		rest := l.b.Named(v+"_rest", ir.Plus(all.Lo, ir.Times(ir.Over(n, ir.Int(width)), ir.Int(width))))
		l.b.When(ir.Less(rest, all.Hi), func() {
			in := e.Clone()
			in.InTile(v, tree.Range{Lo: rest, Hi: all.Hi, Width: -width})
			l.b.When(e.Res.NeedsInit(), func() {
				l.b.Emit(&ir.Fill{A: l.leaf.Out.Values, Lo: ir.Plus(base, rest), Hi: ir.Plus(base, all.Hi),
					X: ir.Zero(l.leaf.Out.Values.Elem)})
			})
			in.Res.Zeroed = true
			part(in)
		})
		return some
	})
}

// storeTile emits code that stores the sums of one tile in the result. The tile is a part of the
// row along v; its number of values is width. The code writes the sums to consecutive places that
// start at first, or adds them to the values at these places.
func (l *lowerer) storeTile(sums *ir.Array, first ir.Expr, width int64, v string, e *scope.Env) {
	a, unset := l.leaf.Out.Values, e.Res.NeedsInit()
	lanes := func(store func(at, x ir.Expr)) func() {
		return func() {
			l.b.Loop(v+"_lane", ir.Int(0), ir.Int(width), func(k *ir.Var) {
				store(ir.Plus(first, k), ir.Convert(a.Elem, ir.At(sums, k)))
			})
		}
	}
	once := lanes(func(at, x ir.Expr) {
		// a sum of -0 must give 0 here too, as when it is added to values that were set to 0
		if !ir.Always(unset) {
			x = ir.Plus(ir.Zero(a.Elem), x)
		}
		s := &ir.Store{A: a, Index: at, X: x}
		l.leaf.Lanes.Once[s] = a == l.leaf.Out.Op.Vals()
		l.b.Emit(s)
	})
	add := lanes(func(at, x ir.Expr) { l.b.AddTo(a, at, x) })
	switch {
	case ir.Always(unset):
		once()
	case ir.IsFalse(unset):
		add()
	default:
		l.b.Choose(unset, once, add)
	}
}

// rowSpace is a workspace over one variable, and its range is a tile or the rest of a row. The
// workspace is a local array. Either all places in the range are assigned, or none.
type rowSpace struct{ sums *ir.Array }

func (l *lowerer) newRowSpace(t *cin.Access, e *scope.Env) *rowSpace {
	w := &rowSpace{l.b.Array(t.Name+"_row", l.spec.Compute)}
	l.b.Emit(&ir.Local{A: w.sums, Len: e.Tiles.At(t.Vars[0]).Width})
	return w
}

func (*rowSpace) HasPlaces() {}

func (w *rowSpace) Add(a *cin.Access, x ir.Expr, e *scope.Env) {
	e.Leaf.B.AddTo(w.sums, e.Lane(a.Vars[0]), x)
}

// whereRow lowers a where statement whose temporary t is a row, or one tile of a row, in registers.
// The emitted code tests whether the row has values, unless this is known, and then runs the
// consumer. For a row without values there is code only if the consumer has other terms. For want
// and the result see stmt.
func (l *lowerer) whereRow(s *cin.Where, t *cin.Access, e *scope.Env, want bool) ir.Expr {
	w := l.newRowSpace(t, e)
	some := l.stmt(s.Producer, e.Filling(t.Name, w), true)
	consume := func(pres bool) ir.Expr {
		in := e.Clone()
		in.Rows = in.Rows.With(t.Name, scope.Row{Sums: w.sums, Pres: ir.Truth(pres)})
		return l.stmt(s.Consumer, in, want)
	}
	return l.lowerBothCases(t.Name, some, want, consume)
}
