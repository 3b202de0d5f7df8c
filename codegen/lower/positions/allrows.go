package positions

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
)

// StoresAllRows reports whether the blocks of f, a loop over tiles of positions, can store every
// value of the result, so that the result need not be set to 0 before. Each value is the sum of one
// row of a matrix. The block that has a whole row stores its sum, and a block that has an empty row
// between its rows stores 0 (ShareRows). Only the rows that begin blocks must be 0 before, because
// several blocks may add to them (ZeroRow).
func StoresAllRows(f *cin.Forall, e *scope.Env, o *scope.OpenLoops) bool {
	l, c, base := e.Leaf, o.Of, units.PositionsAmong(o.Frames)
	if !l.Spec.GPU || f.Unit != cin.GPUBlock || l.Spec.Adds || l.Out.Sparse() || base == nil ||
		e.Res.Zeroed || e.Res.Level > 0 || len(l.ResultVars) != 1 || len(c.Roots) != 2 ||
		len(c.Leaves) != 2 || l.ResultVars[0] != c.Roots[0] {
		return false
	}
	consumer := f.Body
	if w, ok := consumer.(*cin.Where); ok {
		consumer = w.Consumer
	}
	g, ok := consumer.(*cin.Forall)
	cur := e.Cur[base.Key]
	return ok && g.Var == c.Leaves[1] && l.LoopStrategy(g).RowLanes > 0 && base.Whole &&
		cur.Level == 0 && cur.Of.Kind(0).CanLocate() && cur.Of.Kind(1).HasPos() &&
		ir.Always(cur.Present) && units.StoredOnce(e, c, cur.Of, 0, 1)
}

// ZeroUnlessAll emits code that sets the result to 0 if the operand of o does not have the same
// rows as the result. Otherwise blocks store all values (StoresAllRows). It returns the environment
// after this code.
func ZeroUnlessAll(e *scope.Env, o *scope.OpenLoops) *scope.Env {
	l, in := e.Leaf, e
	rows, out := e.Cur[units.PositionsAmong(o.Frames).Key].Of, l.Out.Op
	differ := ir.Either(ir.Unequal(rows.Size(0), out.Size(0)),
		ir.Unequal(rows.Offset(0), out.Offset(0)))
	l.B.When(differ, func() { in = merge.Zero(e) })
	return in
}

// ZeroRow emits code that sets the value of a row of the operand of o to 0. row is the row's
// position.
func ZeroRow(e *scope.Env, o *scope.OpenLoops, row ir.Expr) {
	cur, in := e.Cur[units.PositionsAmong(o.Frames).Key], e.Clone()
	in.Coord = in.Coord.With(o.Of.Roots[0], e.Leaf.B.Named(o.Of.Roots[0],
		cur.CoordAt(0, cur.Pos, row)))
	merge.EnterResult(in)
	storeZero(in)
}

// storeZero emits code that sets the value at the current place of the result to 0.
func storeZero(e *scope.Env) {
	values := e.Leaf.Out.Values
	e.Leaf.B.Store(values, e.Res.Pos, ir.Zero(values.Elem))
}
