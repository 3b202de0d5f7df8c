package lower

import (
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
)

// The functions of this file lower the nodes of a loop over positions. If want is true, each
// returns the condition that its node assigned a value. If want is false, the caller may only test
// whether the returned condition is the constant false: then the node never assigns a value.

// span lowers s: it emits code that finds the range of positions that the leaf visits.
func (l *lowerer) span(s *cin.Span, e *scope.Env, want bool) ir.Expr {
	key := s.Access.Key()
	root := e.Cur[key]
	if root == nil || root.Level != 0 || e.Res.Level != 0 {
		panic("BUG: lower: the span of " + key + " is inside a loop")
	}
	cur := *root
	cur.Level, cur.Pos, cur.Base = len(s.Levels)-1, nil, nil
	r := scope.Span{Key: key, Cur: &cur}
	r.Lo, r.Hi = merge.Positions(root, cur.Level, e)
	return l.stmt(s.Body, e.InSpan(s.Pos, r), want)
}

// chunks lowers s: it emits a loop on threads over chunks of positions.
func (l *lowerer) chunks(s *cin.Chunks, e *scope.Env) ir.Expr {
	r := e.Spans.At(s.Pos)
	w := &units.Work{L: l.leaf, Chunks: units.Chunks(l.leaf, s.PerThread), Lo: r.Lo, Hi: r.Hi}
	if r.Cur.Of.Argument.Format.HasPosFrom(r.Cur.Level + 1) {
		w.Driver = r.Cur
		w.Total = l.b.Named("work", ir.Minus(w.Before(w.Hi), w.Before(w.Lo)))
	}
	some := ir.Expr(ir.Truth(false))
	l.b.Chunks("chunk", ir.Int(0), w.Chunks, func(c *ir.Var) {
		name := r.Cur.Of.Prefix()
		r.Lo = l.b.Named(name+"_from", w.Cut(c))
		r.Hi = l.b.Named(name+"_to", w.Cut(ir.Plus(c, ir.Int(1))))
		some = l.stmt(s.Body, e.InSpan(s.Pos, r), false)
	})
	return some
}

// positions lowers s: it emits a sequential loop over the range of its position.
func (l *lowerer) positions(s *cin.Positions, e *scope.Env, want bool) ir.Expr {
	r := e.Spans.At(s.Pos)
	r.P = l.b.Var(r.Cur.Of.Prefix() + "_p")
	at := e.Clone()
	at.Cur[r.Key] = r.Cur
	defer l.leaf.Used.Enter(strings.Join(r.Cur.Vars[:r.Cur.Level+1], ", "),
		lattice.Loop(r.Cur.Next(), s.Body, merge.Entered(at)))()
	some := ir.Expr(ir.Truth(false))
	l.b.Emit(&ir.For{V: r.P, Lo: r.Lo, Hi: r.Hi, Step: 1, Body: l.b.Within(func() {
		some = l.stmt(s.Body, e.InSpan(s.Pos, r), want)
	})})
	if want && !ir.IsFalse(some) {
		return ir.Less(r.Lo, r.Hi)
	}
	return some
}

// coord lowers s: it emits code that loads a coordinate.
func (l *lowerer) coord(s *cin.Coord, e *scope.Env, want bool) ir.Expr {
	it := merge.At(e.Spans.At(s.Pos))
	it.Crd = it.Cur.Of.Crd(it.Cur.Level)
	in := e.Clone()
	in.Coord = in.Coord.With(s.Var, l.b.Declare(s.Var, it.At(it.P)))
	(&merge.Loop{F: &cin.Forall{Var: s.Var, Body: s.Body}, E: e}).Prefetch(it)
	return l.stmt(s.Body, in, want)
}

// at lowers s: it moves the cursors of the operand and the result to a position.
func (l *lowerer) at(s *cin.At, e *scope.Env, want bool) ir.Expr {
	it := merge.At(e.Spans.At(s.Pos))
	in := e.Clone()
	in.Cur[it.Key] = it.Enter(ir.Truth(true))
	in.EnterAll(s.Body)
	in.Res = l.leaf.Out.At(it.P)
	merge.EnterResult(in)
	return l.stmt(s.Body, in, want)
}
