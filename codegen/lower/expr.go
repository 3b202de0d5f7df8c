package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// masked returns the value, or 0 if it is absent.
func (l *lowerer) masked(x value) ir.Expr {
	zero := ir.Zero(l.spec.Compute)
	switch {
	case ir.Never(x.pres):
		return zero
	case ir.Always(x.pres), x.zeroed:
		return x.v
	}
	return ir.Choose(x.pres, x.v, zero)
}

// presence returns the condition under which an expression is present. It does not compute the
// value.
func (l *lowerer) presence(x cin.Expr, e *env) ir.Expr {
	switch x := x.(type) {
	case *cin.Access:
		return l.accessPresence(x, e)
	case *cin.Neg:
		return l.presence(x.X, e)
	case *cin.Binary:
		switch p := l.presence(x.X, e); x.Op {
		case '+', '-':
			return ir.Either(p, l.presence(x.Y, e))
		case '*':
			return ir.Both(p, l.presence(x.Y, e))
		case '/':
			return p
		}
	}
	return ir.Truth(true)
}

// expr lowers an expression. under is the condition that all other factors of its term are present.
// If under is false at run time, no division of integers fails.
func (l *lowerer) expr(x cin.Expr, e *env, under ir.Expr) value {
	switch x := x.(type) {
	case *cin.Access:
		return l.access(x, e)
	case *cin.Lit:
		return value{pres: ir.Truth(true), v: ir.Convert(l.spec.Compute, x.Value), zeroed: true}
	case *cin.Neg:
		y := l.expr(x.X, e, under)
		if ir.Never(y.pres) {
			return y
		}
		return value{y.pres, ir.Negated(y.v), ir.Always(y.pres)} // -0 is not the zero of absence
	case *cin.Binary:
		if x.Op == '*' && l.spec.Compute.IsInt() {
			return l.product(l.expr(x.X, e, ir.Both(under, l.presence(x.Y, e))),
				l.expr(x.Y, e, ir.Both(under, l.presence(x.X, e))))
		}
		if x.Op == '/' && ir.Never(l.presence(x.X, e)) {
			return absentValue
		}
		p := l.expr(x.X, e, under)
		if x.Op == '/' {
			under = ir.Both(under, p.pres)
		}
		q := l.expr(x.Y, e, under)
		switch x.Op {
		case '+':
			return l.sum(ir.Add, p, q)
		case '-':
			return l.sum(ir.Sub, p, q)
		case '*':
			return l.product(p, q)
		case '/':
			return l.quotient(p, q, e, under)
		}
	}
	panic(fmt.Sprintf("BUG: lower: expression %T", x))
}

// accessPresence returns the condition under which an access is present. It may be called before
// the access's dense levels have been entered.
func (l *lowerer) accessPresence(a *cin.Access, e *env) ir.Expr {
	if t, ok := e.temps.get(a.Name); ok {
		return t.pres
	}
	if r, ok := e.rows.get(a.Name); ok {
		return r.pres
	}
	if c := e.cur[a.Key()]; c != nil {
		return c.Present
	}
	panic("BUG: lower: access " + a.Key() + " is not in scope")
}

func (l *lowerer) access(a *cin.Access, e *env) value {
	if t, ok := e.temps.get(a.Name); ok {
		return t
	}
	if r, ok := e.rows.get(a.Name); ok {
		if ir.Never(r.pres) {
			return absentValue
		}
		return value{r.pres, ir.At(r.sums, e.lane(a.Vars[0])), true}
	}
	c := e.cur[a.Key()]
	if c == nil {
		panic("BUG: lower: access " + a.Key() + " is not in scope")
	}
	if ir.Never(c.Present) {
		return absentValue
	}
	if c.Value == nil {
		panic("BUG: lower: the value of " + a.Key() + " is not known here")
	}
	return value{c.Present, c.Value, true}
}

func (l *lowerer) sum(op ir.Op, p, q value) value {
	switch {
	case ir.Never(q.pres):
		return p
	case ir.Never(p.pres) && op == ir.Sub:
		return value{q.pres, ir.Negated(q.v), ir.Always(q.pres)}
	case ir.Never(p.pres):
		return q
	}
	// If one side is absent, the result is the other side alone. Adding a zero instead would turn
	// -0 into 0, and a division can distinguish the two. Both sides are written twice. Therefore a
	// sum inside them gets a name; otherwise the code would double with every operand.
	p, q = l.nameChoice(p), l.nameChoice(q)
	alone := q.v
	if op == ir.Sub {
		alone = ir.Negated(q.v)
	}
	both := ir.Choose(q.pres, ir.Bin(op, p.v, q.v), p.v)
	return value{ir.Either(p.pres, q.pres), ir.Choose(p.pres, both, alone), ir.Always(p.pres) ||
		ir.Always(q.pres) || q.zeroed && op == ir.Add}
}

// nameChoice returns a value that costs nothing to repeat. If the value is a choice, it is stored
// in a variable.
func (l *lowerer) nameChoice(x value) value {
	if _, ok := x.v.(*ir.Select); ok {
		x.v = l.b.Named("sum", x.v)
		x.pres = l.nameCondition(x.pres)
	}
	return x
}

// nameCondition returns pres as an expression that costs nothing to repeat: a constant or a
// variable.
func (l *lowerer) nameCondition(pres ir.Expr) ir.Expr {
	if _, ok := pres.(*ir.Var); ok || ir.Always(pres) || ir.Never(pres) {
		return pres
	}
	return l.b.Named("some", pres)
}

func (l *lowerer) product(p, q value) value {
	if ir.Never(p.pres) || ir.Never(q.pres) {
		return absentValue
	}
	pres := ir.Both(p.pres, q.pres)
	return value{pres, ir.Times(p.v, q.v), ir.Always(pres)}
}

// quotient returns p/q. It is absent if p is absent. If only q is absent, it is a division by zero.
func (l *lowerer) quotient(p, q value, e *env, under ir.Expr) value {
	if ir.Never(p.pres) {
		return p
	}
	if !l.spec.Compute.IsInt() {
		return value{p.pres, ir.Over(p.v, l.masked(q)), ir.Always(p.pres)}
	}
	t := l.spec.Compute
	r := ir.NewVar(l.b.Fresh("quot"), t)
	l.b.Emit(&ir.Declare{V: r, Init: ir.Zero(t)})
	l.b.When(under, func() {
		den := l.b.Named("den", l.masked(q))
		l.b.When(ir.Equal(den, ir.Zero(t)),
			func() { l.b.Emit(&ir.Fail{Code: ir.FailDivide, Coord: l.coords(e)}) })
		if ir.Never(ir.Unequal(den, ir.Zero(t))) {
			return
		}
		// The quotient of the smallest integer and -1 wraps around, like its negation.
		minus := ir.Negated(ir.One(t))
		l.b.Set(r, ir.Choose(ir.Equal(den, minus), ir.Negated(p.v),
			ir.Over(p.v, ir.Choose(ir.Equal(den, minus), ir.One(t), den))))
	})
	return value{p.pres, r, true}
}

// coords returns the coordinates of the leaf's variables, in the order of its bounds, with -1 for a
// variable that is not bound here.
func (l *lowerer) coords(e *env) []ir.Expr {
	var at []ir.Expr
	for _, v := range l.spec.Vars[:min(len(l.spec.Vars), ir.MaxFailCoord)] {
		if c, ok := e.coord.get(v); ok {
			at = append(at, c)
		} else {
			at = append(at, ir.Int(-1))
		}
	}
	return at
}
