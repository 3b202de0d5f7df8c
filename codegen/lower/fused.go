package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/positions"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// A fused space is the space of several variables in lexicographic order. An interval of it is
// lowered to nested loops over the variables. The outermost loop runs from the row of the
// interval's start to the row of its end. The inner loops are restricted by the interval in the
// first row and in the last row.

// determineFused lowers f, the last loop of a component whose original variables are fused. It
// emits loops over these variables. The loops visit only the points that the outer loops have left
// to them, which o describes. If want is true, determineFused returns the condition that the loops
// assigned a value.
func (l *lowerer) determineFused(f *cin.Forall, e *scope.Env, o *scope.OpenLoops,
	want bool) ir.Expr {
	c := o.Of
	if l.leaf.Assigns(f) {
		e = merge.Zero(e)
	}
	if positions.InRows(f, e, o) {
		return positions.Walk(f, e, o, want)
	}
	lo, hi := bounds.Edges(o, e)
	return l.lexicographic(f, e, c, lo, hi, 0, ir.Truth(true), ir.Truth(true), want)
}

// lexicographic lowers loops over points of a fused space in lexicographic order. The points are
// from lo up to, but not including, hi. lexicographic lowers the loop over root d and, inside it,
// the loops over the later roots. atLo is the condition that all roots before d have the
// coordinates of lo. If it is false, lo does not limit the loop over root d. atHi is the
// corresponding condition for hi.
func (l *lowerer) lexicographic(f *cin.Forall, e *scope.Env, c *scope.Component, lo, hi []ir.Expr,
	d int, atLo, atHi ir.Expr, want bool) ir.Expr {
	root := c.Roots[d]
	all := e.RangeOf(root)
	rest := ir.Expr(ir.Truth(false)) // whether the last row has any points
	for k, x := range hi[d+1:] {
		rest = ir.Either(rest, ir.Less(e.RangeOf(c.Roots[d+1+k]).Lo, x))
	}
	if d == len(c.Roots)-1 {
		rest = ir.Truth(false)
	}
	end := ir.Choose(rest, ir.Plus(hi[d], ir.Int(1)), hi[d])
	in := e.Clone()
	in.Ranges = in.Ranges.With(root, tree.Range{
		Lo:   l.b.Named(root+"_lo", ir.Choose(atLo, lo[d], all.Lo)),
		Hi:   l.b.Named(root+"_hi", ir.Choose(atHi, end, all.Hi)),
		Clip: true,
	})
	g := &cin.Forall{Var: root, Body: f.Body, Gallop: f.Gallop}
	if d == len(c.Roots)-1 {
		g.Unit, g.Race, g.Chunk, g.Unroll = f.Unit, f.Race, f.Chunk, f.Unroll
		return l.forall(g, in, want)
	}
	// Only the loop's extent comes from g. Its body is the loop over the next root.
	g.Body = &cin.Forall{Var: c.Roots[d+1], Body: f.Body}
	return result.InOrder(l.assembly, &merge.Loop{F: g, E: in, Want: want, Body: func(in *scope.Env,
		want bool) ir.Expr {
		return l.lexicographic(f, in, c, lo, hi, d+1, ir.Both(atLo, ir.Equal(in.Coord.At(root), lo[d])),
			ir.Both(atHi, ir.Equal(in.Coord.At(root), hi[d])), want)
	}})
}
