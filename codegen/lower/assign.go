package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// assign lowers an assignment and returns whether it took place.
func (l *lowerer) assign(s *cin.Assign, e *env) ir.Expr {
	x := l.expr(s.RHS, e)
	if never(x.pres) {
		return x.pres
	}
	switch {
	case s.LHS.Name == l.out.op.Name:
		l.assignResult(s, x, e)
	case l.spaces[s.LHS.Name] != nil:
		l.when(x.pres, func() { l.spaces[s.LHS.Name].add(l, s.LHS, x.v, e) })
	default:
		t := l.scalars[s.LHS.Name]
		if x.zeroed {
			l.emit(&ir.Assign{V: t, Accumulate: s.Accumulate, X: x.v})
		} else {
			l.when(x.pres, func() { l.emit(&ir.Assign{V: t, Accumulate: s.Accumulate, X: x.v}) })
		}
	}
	return x.pres
}

// assignResult stores to the result at its cursor. A dense result holds 0
// already where nothing is assigned; a place appended to a sparse one counts
// only if its value is present.
func (l *lowerer) assignResult(s *cin.Assign, x value, e *env) {
	op := l.out.op
	if e.res.level != op.order() {
		panic("BUG: lower: the result's position is not known at " + s.LHS.Key())
	}
	l.when(x.pres, func() {
		l.emit(&ir.Store{A: l.out.vals, Index: e.res.pos, Accumulate: s.Accumulate, X: ir.Convert(op.Type, x.v)})
	})
}
