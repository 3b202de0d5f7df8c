package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// assign lowers an assignment. It returns the condition that the assigned expression is present.
func (l *lowerer) assign(s *cin.Assign, e *env) ir.Expr {
	if w, ok := e.space(s.LHS.Name).(*positionSpace); ok && w.own != "" {
		e = w.arrive(s, e)
	}
	var x value
	if e.predicates != nil {
		x = value{pres: ir.Truth(true), v: l.predicatedSum(s.RHS, e, false), zeroed: true}
	} else {
		x = l.expr(s.RHS, e, ir.Truth(true))
	}
	if s.LHS.Name == l.out.op.Argument.Name {
		l.assignResult(s, x, e)
		return x.pres
	}
	if ir.Never(x.pres) {
		return x.pres
	}
	if w := e.space(s.LHS.Name); w != nil {
		l.b.When(x.pres, func() { w.add(l, s.LHS, x.v, e) })
		return x.pres
	}
	cond := x.pres
	if x.zeroed {
		cond = ir.Truth(true)
	}
	t := e.sum(s.LHS.Name)
	l.b.When(cond, func() { l.b.Emit(&ir.Assign{V: t, Accumulate: s.Accumulate, X: x.v}) })
	return x.pres
}

// addTo emits code that stores x at place pos of the result, or adds x to it if accumulate is true.
// The addition is atomic if other threads may add to the same place.
func (l *lowerer) addTo(pos, x ir.Expr, accumulate bool, e *env) {
	add := func(atomic bool) {
		l.b.Emit(&ir.Store{A: l.out.vals(), Index: pos, Accumulate: accumulate, Atomic: atomic, X: x})
	}
	if !e.atomic || !accumulate || e.own == nil {
		add(e.atomic && accumulate)
		return
	}
	l.b.Emit(&ir.If{Cond: e.own, Then: l.b.Within(func() { add(false) }),
		Else: l.b.Within(func() { add(true) })})
}

// assignResult emits code that stores x in the result at e's cursor. A place that does not contain
// 0 yet is written even if x is absent.
func (l *lowerer) assignResult(s *cin.Assign, x value, e *env) {
	a := l.out
	pos := e.res.pos
	switch {
	case e.res.tile != nil:
		l.b.When(x.pres,
			func() { l.b.Emit(&ir.Store{A: e.res.tile, Index: pos, Accumulate: s.Accumulate, X: x.v}) })
		return
	case e.res.level != a.op.Order():
		panic("BUG: lower: the result's position is not known at " + s.LHS.Key())
	}
	if c := e.private; c != nil {
		l.b.When(x.pres, func() {
			l.b.Emit(&ir.Store{A: c.vals, Index: ir.Plus(pos, c.shift), Accumulate: s.Accumulate,
				Atomic: e.atomic && s.Accumulate, X: x.v})
		})
		return
	}
	if e.res.zeroed {
		l.b.When(x.pres, func() { l.addTo(pos, ir.Convert(a.vals().Elem, x.v), s.Accumulate, e) })
		return
	}
	if e.res.first == nil {
		l.assembly.store(x, e)
		return
	}
	x.v = ir.Plus(ir.Zero(x.v.Type()), x.v)
	l.b.Emit(&ir.If{Cond: e.res.first, Then: l.b.Within(func() { l.assembly.store(x, e) }),
		Else: l.b.Within(func() {
			l.b.When(x.pres, func() { l.addTo(pos, ir.Convert(a.vals().Elem, x.v), true, e) })
		})})
}
