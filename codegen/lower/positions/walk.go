package positions

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
)

// InRows reports whether Walk can lower f. Three conditions must hold: f visits an interval of
// positions of an operand that may be present, f has values only at entries of this operand, and f
// does not assign to a result that is written in order.
func InRows(f *cin.Forall, e *scope.Env, o *scope.OpenLoops) bool {
	l := e.Leaf
	inOrder := l.Assigns(f) && l.Out.InOrder
	return !inOrder && o.Iv.Unit == scope.Positions && !ir.IsFalse(e.Cur[o.Iv.Key].Present) &&
		bounds.DrivenBy(f, o.Iv.Key)
}

// FindRows emits the search for the first row of a tile of fused variables. It emits the search
// only if loops over other variables are between f and the loop that walks the tile, because each
// iteration of these loops would otherwise repeat the search.
func FindRows(f *cin.Forall, e *scope.Env, c *scope.Component) {
	o := e.Open.At(c.Top)
	next, ok := f.Body.(*cin.Forall)
	if len(c.Roots) < 2 || !ok || next.Var == o.Leaf {
		return
	}
	for ok && next.Var != o.Leaf {
		next, ok = next.Body.(*cin.Forall)
	}
	if !ok || !InRows(next, e, o) {
		return
	}
	cur := e.Cur[o.Iv.Key]
	for k := cur.Level + 1; k < cur.Level+len(c.Roots); k++ {
		if cur.Of.Kind(k).CanLocate() {
			return // the position would be divided by the level's size, which may be 0
		}
	}
	o.At = cur.Ancestors(o.Iv.Ancestor, len(c.Roots), o.Iv.Lo)
}

// walk is the state of the lowering of a loop over rows. The loop visits the positions of an
// interval in order.
type walk struct {
	o    *scope.OpenLoops
	at   []ir.Expr // the positions that contain the interval's first position
	kept *keptRow
	loop *merge.Loop
}

// Walk lowers f as a walk over rows, if values exist only at the positions of an interval. Walk
// searches for the row of the first position, unless FindRows has found it. Rows that begin after
// the interval are not visited.
func Walk(f *cin.Forall, e *scope.Env, o *scope.OpenLoops, want bool) ir.Expr {
	w := &walk{o: o, at: o.At, loop: &merge.Loop{F: f, E: e, Want: want}}
	return w.loop.Collect(nil, func() ir.Expr {
		some := ir.Expr(ir.Truth(false))
		e.Leaf.B.When(ir.Less(o.Iv.Lo, o.Iv.Hi), func() {
			if w.at == nil {
				w.at = e.Cur[o.Iv.Key].Ancestors(o.Iv.Ancestor, len(o.Of.Roots), o.Iv.Lo)
			}
			w.kept = keepRow(f, e, o.Of)
			w.kept.walk(func() { some = w.row(f, e, 0) })
		})
		return some
	})
}

// row lowers the loop over root d. A root is an original variable of the component, and roots are
// numbered from 0. A walk over rows has such a loop for each root except the last, one inside
// another. If only one root follows d and the rows are plain (bounds.HasPlainRows), each iteration
// first visits a row that may be only partly in the interval. An inner loop then visits the
// following rows that are entirely in the interval.
func (w *walk) row(f *cin.Forall, e *scope.Env, d int) ir.Expr {
	l, o, c := e.Leaf, w.o, w.o.Of
	root := c.Roots[d]
	cur := e.Cur[o.Iv.Key]
	op, k := cur.Of, cur.Level
	lo, hi := bounds.ChildRange(cur, e)
	q := l.B.Declare(op.Prefix()+"_p", ir.Greatest(lo, w.at[d]))
	begins := func(p ir.Expr) ir.Expr { return op.DownTo(k+1, k+len(c.Roots)-1-d, p) }
	until := hi
	// the positions are positions of the last level
	if op.Argument.Format.HasRepeats(k) && op.Argument.Format.RunEnd(k) >= k+len(c.Roots)-1-d {
		until = l.B.Named(op.Prefix()+"_until", ir.Least(hi, o.Iv.Hi))
	}
	some := ir.Expr(ir.Truth(false))
	next := func(whole bool) {
		x := l.B.Declare(root, cur.CoordAt(0, cur.Pos, q))
		next := *cur
		next.Level, next.Pos, next.End, next.Base = k+1, q, nil, nil
		var run *ir.Var
		if op.Argument.Format.HasRepeats(k) {
			run = l.B.Declare(op.Prefix()+"_r", ir.Plus(q, ir.Int(1)))
			l.B.While(ir.Both(ir.Less(run, until), ir.Equal(ir.Coord(op.Crd(k), run), x)),
				func() { l.B.Incr(run, ir.Int(1)) })
			next.End = run
		}
		g := &cin.Forall{Var: root, Body: &cin.Forall{Var: c.Roots[d+1], Body: f.Body}}
		if !op.Kind(k).CanLocate() {
			(&merge.Loop{F: g, E: e}).Prefetch(&merge.Iter{Key: o.Iv.Key, Cur: cur, Crd: op.Crd(k), P: q,
				Padded: op.Kind(k).IsPadded()})
		}
		in := e.Bind(f.Body, root, x, map[string]*tree.Cursor{o.Iv.Key: &next})
		merge.BindResultAt(g, in)
		inside := func(f *cin.Forall, in *scope.Env) ir.Expr {
			if d+1 == len(c.Roots)-1 {
				return w.lastRow(f, in, whole)
			}
			if l.Assigns(f) { // the rows of the next root may return to values or leave some out
				in = merge.Zero(in)
			}
			return w.row(f, in, d+1)
		}
		if !whole && w.kept.fits(f, d, in) {
			some = scope.AnyOf(some, w.kept.row(f, in, inside))
		} else {
			some = scope.AnyOf(some, inside(f, in))
		}
		if run != nil {
			l.B.Set(q, run)
		} else {
			l.B.Incr(q, ir.Int(1))
		}
	}
	l.B.While(ir.Both(ir.Less(q, hi), ir.Less(begins(q), o.Iv.Hi)), func() {
		next(false)
		if d == len(c.Roots)-2 && bounds.HasPlainRows(l, op, k) {
			l.B.While(ir.Both(ir.Less(q, hi), ir.AtMost(begins(ir.Plus(q, ir.Int(1))), o.Iv.Hi)),
				func() { next(true) })
		}
	})
	return some
}

// lastRow lowers the innermost loop of a walk over rows, which visits one row. The loop is over the
// last root. If whole is true, the row is entirely inside the interval. Otherwise the loop visits
// only the part of the row that is inside.
func (w *walk) lastRow(f *cin.Forall, e *scope.Env, whole bool) ir.Expr {
	l, o, c := e.Leaf, w.o, w.o.Of
	root := c.Roots[len(c.Roots)-1]
	cur := e.Cur[o.Iv.Key]
	lo, hi := cur.Segment()
	in := e.Clone()
	owns := units.OwnsRows(e, c, cur.Of, cur.Level)
	switch {
	case whole:
		in.Parts = in.Parts.With(scope.PlaceKey(o.Iv.Key, root), [2]ir.Expr{lo, hi})
		if owns {
			in.Atomic, in.Racing = false, nil
		}
	default:
		in.Parts = in.Parts.With(scope.PlaceKey(o.Iv.Key, root), [2]ir.Expr{
			l.B.Named(root+"_lo", ir.Greatest(lo, o.Iv.Lo)), l.B.Named(root+"_hi", ir.Least(hi, o.Iv.Hi))})
		if owns {
			in.Own = l.B.Named("own", ir.Both(ir.AtLeast(lo, o.Iv.Lo), ir.AtLeast(o.Iv.Hi, hi)))
		}
	}
	g := *f
	g.Var = root
	if whole && units.StoredOnce(e, c, cur.Of, cur.Level-len(c.Roots)+1, len(c.Roots)-1) &&
		units.SumsSingleValue(&g, in) {
		in.Res.Zeroed = l.Spec.Adds // otherwise there is nothing to add to
	}
	some := l.Stmt(&g, in, w.loop.Want)
	w.loop.NoteAssigned(some)
	return some
}
