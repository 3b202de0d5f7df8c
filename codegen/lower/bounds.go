package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/positions"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
)

// boundsLoop lowers loop f of component c, whose loops are in natural order (see package
// provenance). It computes the loop's bounds from the bounds of the loops around it. For want and
// the result see stmt.
func (l *lowerer) boundsLoop(f *cin.Forall, e *scope.Env, c *scope.Component, want bool) ir.Expr {
	o := e.Open.At(c.Top)
	if o == nil {
		iv := bounds.SpaceOf(e, c)
		o = bounds.Descend(nil, c.Top, iv, f, e)
	}
	if o.Leaf != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where " + o.Leaf + " is next")
	}
	if o.Iv.Unit != scope.Numbers {
		return l.determine(f, e, o, want)
	}
	return l.tiles(f, e, o, want)
}

// tiles lowers a loop over tile numbers. If the loop assigns to the result, the result is set to 0
// before the loop (merge.Zero), unless each tile of the result is set to 0 inside the loop, or the
// blocks of the loop store every value of the result.
func (l *lowerer) tiles(f *cin.Forall, e *scope.Env, o *scope.OpenLoops, want bool) ir.Expr {
	c := o.Of
	// If nothing else is between this loop and the loop that determines the result's next variable,
	// that loop sets its own tile of the result to 0.
	inTiles := len(c.Roots) == 1 && e.Res.Level < len(l.leaf.ResultVars) &&
		l.leaf.ResultVars[e.Res.Level] == c.Roots[0]
	s := f.Body
	for _, leaf := range c.Leaves[slices.Index(c.Leaves, f.Var)+1:] {
		next, ok := s.(*cin.Forall)
		if inTiles = inTiles && ok && next.Var == leaf; !inTiles {
			break
		}
		s = next.Body
	}
	if positions.StoresAllRows(f, e, o) {
		return l.tilesOf(f, positions.ZeroUnlessAll(e, o), o, want,
			func(row ir.Expr) { positions.ZeroRow(e, o, row) })
	}
	if l.leaf.Assigns(f) && !inTiles {
		e = merge.Zero(e)
	}
	if some, ok := l.privateLoop(f, e, want); ok {
		return some
	}
	return l.tilesOf(f, e, o, want, nil)
}

// tilesOf emits a loop over tile numbers. If e belongs to a piece of the loop, it emits only the
// part that the piece runs.
//
// begin is nil, or emits code for a row with the first position of a block (units.FindBlockRows).
func (l *lowerer) tilesOf(f *cin.Forall, e *scope.Env, o *scope.OpenLoops, want bool,
	begin func(row ir.Expr)) ir.Expr {
	c := o.Of
	if f.Unit == cin.CPUThread && l.leaf.Assigns(f) && l.leaf.Out.InOrder {
		l.tilePieces(f, e, o)
		return ir.Truth(true)
	}
	p := &merge.Loop{F: f, E: e, Want: want, Body: l.body(f.Body)}
	from, to := pieceRange(l.b, e, f.Var, o.Iv.Lo, o.Iv.Hi)
	rows := units.FindBlockRows(f, e, o, begin)
	loop := func(open, done func(number ir.Expr)) (some ir.Expr) {
		v := l.b.Var(f.Var)
		body := units.BodyOf(l.leaf, f, func() {
			in := units.AtomicEnv(f, e.Clone())
			x, iv, frames := bounds.Tile(o, v, in)
			iv, frames = rows.Inside(l.leaf, v, iv, frames)
			in.Open = in.Open.With(c.Top, bounds.Descend(frames, x, iv, f, in))
			positions.FindRows(f, in, c)
			open(ir.Minus(v, from))
			some = p.RunBody(in)
			done(ir.Minus(v, from))
		})
		l.b.Emit(units.SetKind(f, e, &ir.For{V: v, Lo: from, Hi: to, Step: 1, Body: body}))
		return some
	}
	if row := result.Parted(l.assembly, f, e); row != nil {
		p.Want = false
		return row.Write(func(open, done func(ir.Expr)) { loop(open, done) })
	}
	p.CountAssigned()
	nothing := func(ir.Expr) {}
	some := p.Collect(nil, func() ir.Expr { return loop(nothing, nothing) })
	rows.Free(l.leaf)
	return some
}

// tilePieces emits a parallel loop over tile numbers. The result is written in order, so each
// iteration makes a separate piece of the result.
func (l *lowerer) tilePieces(f *cin.Forall, e *scope.Env, o *scope.OpenLoops) {
	c := o.Of
	l.assembly.(result.Chunked).Chunks(ir.Minus(o.Iv.Hi, o.Iv.Lo),
		func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
			v := l.b.Var(f.Var)
			body := units.BodyOf(l.leaf, f, func() {
				in := units.AtomicEnv(f, e.Clone())
				x, iv, frames := bounds.Tile(o, v, in)
				span := bounds.Coverage(iv, frames, e)
				number := ir.Minus(v, o.Iv.Lo)
				open(number, span.Lo)
				in.Open = in.Open.With(c.Top, bounds.Descend(frames, x, iv, f, in))
				l.stmt(f.Body, in, false)
				closeAt(number, span.Hi)
			})
			l.b.Emit(units.SetKind(f, e, &ir.For{V: v, Lo: o.Iv.Lo, Hi: o.Iv.Hi, Step: 1, Body: body}))
		})
}

// determine lowers f, the last loop of the component o.Of. Inside f, the values of the component's
// original variables are known. The emitted loops are over these variables, or over positions
// (positions.ShareRows, Fill and Sum). They visit only the values in o.Iv, the interval that the
// outer loops have left. For want and the result see stmt.
func (l *lowerer) determine(f *cin.Forall, e *scope.Env, o *scope.OpenLoops, want bool) ir.Expr {
	c := o.Of
	if n := l.leaf.LoopStrategy(f).RowLanes; n > 0 {
		positions.ShareRows(f, e, o, n)
		return ir.Less(o.Iv.Lo, o.Iv.Hi)
	}
	if positions.Fill(f, e, o) || positions.Sum(f, e, o) {
		return ir.Less(o.Iv.Lo, o.Iv.Hi)
	}
	if len(c.Roots) > 1 {
		return l.determineFused(f, e, o, want)
	}
	root := c.Roots[0]
	in := e.Clone()
	iv := bounds.ToCoords(o.Iv, e)
	in.Ranges = in.Ranges.With(root, tree.Range{Lo: iv.Lo, Hi: iv.Hi, Clip: !iv.Whole})
	if o.Iv.Unit == scope.Positions && !o.Iv.Whole && !ir.IsFalse(e.Cur[o.Iv.Key].Present) {
		in.Parts = in.Parts.With(scope.PlaceKey(o.Iv.Key, root), [2]ir.Expr{o.Iv.Lo, o.Iv.Hi})
	}
	g := *f
	g.Var = root
	return l.forall(&g, in, want)
}
