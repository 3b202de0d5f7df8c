package simt

import "distaff/codegen/ir"

// spread appends the code that each thread runs for a loop of Warps or Lanes. Thread or warp n runs
// the iterations n, n+Width, n+2*Width and so on.
func (l *launcher) spread(s *ir.For, unitLevel level, out *ir.Block) {
	unit, units, inner := l.unitOf(s, unitLevel)
	sums := l.beginSums(s)
	body := l.inside(s.Body, inner)
	l.endInner(sums)

	whole := &ir.Block{}
	for _, r := range sums {
		whole.Append(&ir.Declare{V: r.part, Init: ir.Zero(r.part.Typ)})
	}
	loop := l.iterations(s, unit, units, body,
		func(name string, x ir.Expr) ir.Expr { return l.savedValue(name, x, whole) })
	l.roles[loop] = eachThread
	if inner == ofWarp {
		l.roles[loop] = eachWarp
	}
	whole.Append(loop)
	l.total(s, sums, unitLevel, whole)
	if len(sums) == 0 {
		out.List = append(out.List, whole.List...)
		return
	}
	out.List = append(out.List, whole)
}

// unitOf returns the number of the warp or thread that runs an iteration of s, the number of such
// units in a block or warp, and the level of the loop's body.
func (l *launcher) unitOf(s *ir.For, unitLevel level) (unit *ir.Var, units int64, inner level) {
	switch {
	case s.Kind == ir.Warps:
		return l.ids.warp, l.threads / ir.WarpSize, ofWarp
	case unitLevel == ofWarp:
		return l.ids.lane, ir.WarpSize, ofThread
	}
	return l.ids.thread, l.threads, ofThread
}

// iterations returns the code that one thread runs for the loop s. A unit, which is a warp or a
// thread, runs some of the iterations. Usually the code is a loop over the unit's iterations. If it
// is known that no unit has more than one iteration, the code is a branch. If each unit is known to
// have exactly one iteration, it is a plain block.
func (l *launcher) iterations(s *ir.For, unit *ir.Var, units int64, body *ir.Block,
	before func(string, ir.Expr) ir.Expr) ir.Stmt {
	lo, hi := before("first", l.rewriter.expr(s.Lo)), before("end", l.rewriter.expr(s.Hi))
	first := ir.Plus(lo, ir.Times(unit, ir.Int(s.Step)))
	trips, known := l.h.bounds.trips(s)
	if known && trips <= s.Width {
		one := &ir.Declare{V: s.V, Init: first}
		if n, isLit := count(s).(*ir.Lit); isLit && n.I == units {
			body.List = append([]ir.Stmt{one}, body.List...)
			return body
		}
		return &ir.Block{List: []ir.Stmt{one, &ir.If{Cond: ir.Less(s.V, hi), Then: body}}}
	}
	loop := &ir.For{V: s.V, Lo: first, Hi: hi, Step: s.Step * s.Width, Body: body}
	l.strides[loop] = true
	if s.Width == units {
		return loop
	}
	return &ir.If{Cond: ir.Less(unit, ir.Int(s.Width)), Then: ir.Seq(loop)}
}
