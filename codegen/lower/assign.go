package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/positions"
	"distaff/codegen/lower/scope"
)

// assign lowers an assignment. It returns the condition that the assigned expression is present.
func (l *lowerer) assign(s *cin.Assign, e *scope.Env) ir.Expr {
	e = positions.Arrive(s, e)
	var x scope.Value
	if e.Predicates != nil {
		x = scope.Value{Pres: ir.Truth(true), V: merge.PredicatedSum(s.RHS, e, false), Zeroed: true}
	} else {
		x = e.Expr(s.RHS, ir.Truth(true))
	}
	if s.LHS.Name == l.leaf.Out.Op.Argument.Name {
		l.assignResult(s, x, e)
		return x.Pres
	}
	if ir.IsFalse(x.Pres) {
		return x.Pres
	}
	if w := e.Space(s.LHS.Name); w != nil {
		l.b.When(x.Pres, func() { w.Add(s.LHS, x.V, e) })
		return x.Pres
	}
	if r := e.Reducer(s.LHS.Name); r != nil {
		l.combine(r, x)
		return x.Pres
	}
	cond := x.Pres
	if x.Zeroed {
		cond = ir.Truth(true)
	}
	t := e.Sum(s.LHS.Name)
	l.b.When(cond, func() { l.b.Emit(&ir.Assign{V: t, Accumulate: s.Accumulate, X: x.V}) })
	return x.Pres
}

// addTo emits code that stores x at place pos of the result, or adds x to it if accumulate is true.
// The addition is atomic if other threads may add to the same place.
func (l *lowerer) addTo(pos, x ir.Expr, accumulate bool, e *scope.Env) {
	add := func(atomic bool) {
		l.b.Emit(&ir.Store{A: l.leaf.Out.Values, Index: pos, Accumulate: accumulate, Atomic: atomic,
			X: x})
	}
	if !e.Atomic || !accumulate || e.Own == nil {
		add(e.Atomic && accumulate)
		return
	}
	l.b.Choose(e.Own, func() { add(false) }, func() { add(true) })
}

// assignResult emits code that stores x in the result at e's cursor. If the last level of the
// result is dense, a place that the leaf must still initialize is written even if x is absent.
func (l *lowerer) assignResult(s *cin.Assign, x scope.Value, e *scope.Env) {
	a := l.leaf.Out
	pos := e.Res.Pos
	switch {
	case e.Res.Tile != nil:
		l.b.When(x.Pres,
			func() { l.b.Emit(&ir.Store{A: e.Res.Tile, Index: pos, Accumulate: s.Accumulate, X: x.V}) })
		return
	case e.Res.Level != a.Op.Order():
		panic("BUG: lower: the result's position is not known at " + s.LHS.Key())
	}
	if c := e.Private; c != nil {
		l.b.When(x.Pres, func() {
			l.b.Emit(&ir.Store{A: c.Vals, Index: ir.Plus(pos, c.Shift), Accumulate: s.Accumulate,
				Atomic: e.Atomic && s.Accumulate, X: x.V})
		})
		return
	}
	if e.Res.Zeroed {
		if x.Found && !e.Atomic {
			if !s.Accumulate { // -0 would differ from the 0 of absence
				x.V = ir.Plus(ir.Zero(x.V.Type()), x.V)
			}
			x.Pres = ir.Truth(true)
		}
		l.b.When(x.Pres, func() { l.addTo(pos, ir.Convert(a.Values.Elem, x.V), s.Accumulate, e) })
		return
	}
	if e.Res.First == nil {
		l.assembly.Store(x, e)
		return
	}
	x.V = ir.Plus(ir.Zero(x.V.Type()), x.V)
	l.b.Choose(e.Res.First, func() { l.assembly.Store(x, e) }, func() {
		l.b.When(x.Pres, func() { l.addTo(pos, ir.Convert(a.Values.Elem, x.V), true, e) })
	})
}
