package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// value is an expression's value where it is present. zeroed says that it is
// 0 where it is not.
type value struct {
	pres   ir.Expr
	v      ir.Expr
	zeroed bool
}

var absentValue = value{pres: ir.Truth(false)}

// masked is the value with 0 for absence.
func (l *lowerer) masked(x value) ir.Expr {
	zero := ir.Zero(l.spec.Compute)
	switch {
	case never(x.pres):
		return zero
	case always(x.pres), x.zeroed:
		return x.v
	}
	return ir.Choose(x.pres, x.v, zero)
}

// presence is whether an expression is present, without its value.
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

// expr is an expression where the condition under holds: that all it is
// multiplied by is present. Elsewhere no division of integers may fail.
func (l *lowerer) expr(x cin.Expr, e *env, under ir.Expr) value {
	switch x := x.(type) {
	case *cin.Access:
		return l.access(x, e)
	case *cin.Lit:
		return value{pres: ir.Truth(true), v: ir.Convert(l.spec.Compute, x.Value), zeroed: true}
	case *cin.Neg:
		y := l.expr(x.X, e, under)
		if never(y.pres) {
			return y
		}
		return value{y.pres, ir.Negated(y.v), always(y.pres)} // -0 is not the zero of absence
	case *cin.Binary:
		if x.Op == '*' && l.spec.Compute.IsInt() {
			return l.product(l.expr(x.X, e, ir.Both(under, l.presence(x.Y, e))),
				l.expr(x.Y, e, ir.Both(under, l.presence(x.X, e))))
		}
		if x.Op == '/' && never(l.presence(x.X, e)) {
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

// accessPresence is whether an access is present: also of one whose levels left to enter are dense.
func (l *lowerer) accessPresence(a *cin.Access, e *env) ir.Expr {
	if t, ok := e.temps[a.Name]; ok {
		return t.pres
	}
	if r, ok := e.rows[a.Name]; ok {
		return r.pres
	}
	if c := e.cur[a.Key()]; c != nil {
		return c.pres
	}
	panic("BUG: lower: access " + a.Key() + " is not in scope")
}

func (l *lowerer) access(a *cin.Access, e *env) value {
	if t, ok := e.temps[a.Name]; ok {
		return t
	}
	if r, ok := e.rows[a.Name]; ok {
		if never(r.pres) {
			return absentValue
		}
		return value{r.pres, ir.At(r.sums, e.lane(a.Vars[0])), true}
	}
	c := e.cur[a.Key()]
	if c == nil {
		panic("BUG: lower: access " + a.Key() + " is not in scope")
	}
	if never(c.pres) {
		return absentValue
	}
	if c.val == nil {
		panic("BUG: lower: the value of " + a.Key() + " is not known here")
	}
	return value{c.pres, c.val, true}
}

func (l *lowerer) sum(op ir.Op, p, q value) value {
	switch {
	case never(q.pres):
		return p
	case never(p.pres) && op == ir.Sub:
		return value{q.pres, ir.Negated(q.v), always(q.pres)}
	case never(p.pres):
		return q
	}
	// Where one side is absent the other stands alone: adding a zero in its
	// place would turn -0 into 0, which a division tells apart. Both sides are
	// written twice, so that a sum below gets a name: else the code would
	// double with every operand.
	p, q = l.once(p), l.once(q)
	alone := q.v
	if op == ir.Sub {
		alone = ir.Negated(q.v)
	}
	both := ir.Choose(q.pres, ir.Bin(op, p.v, q.v), p.v)
	return value{ir.Either(p.pres, q.pres), ir.Choose(p.pres, both, alone), always(p.pres) ||
		always(q.pres) || q.zeroed && op == ir.Add}
}

// once is a value that costs nothing to repeat where it was a choice.
func (l *lowerer) once(x value) value {
	if _, ok := x.v.(*ir.Select); ok {
		x.v = l.named("sum", x.v)
		x.pres = l.held(x.pres)
	}
	return x
}

// held is a presence that costs nothing to repeat.
func (l *lowerer) held(pres ir.Expr) ir.Expr {
	if _, ok := pres.(*ir.Var); ok || always(pres) || never(pres) {
		return pres
	}
	return l.named("some", pres)
}

func (l *lowerer) product(p, q value) value {
	if never(p.pres) || never(q.pres) {
		return absentValue
	}
	pres := ir.Both(p.pres, q.pres)
	return value{pres, ir.Times(p.v, q.v), always(pres)}
}

// quotient is p/q: absent where p is, and a division by zero where q is absent.
func (l *lowerer) quotient(p, q value, e *env, under ir.Expr) value {
	if never(p.pres) {
		return p
	}
	if !l.spec.Compute.IsInt() {
		return value{p.pres, ir.Over(p.v, l.masked(q)), always(p.pres)}
	}
	t := l.spec.Compute
	r := ir.NewVar(l.fresh("quot"), t)
	l.emit(&ir.Declare{V: r, Init: ir.Zero(t)})
	l.when(under, func() {
		den := l.named("den", l.masked(q))
		l.when(ir.Equal(den, ir.Zero(t)),
			func() { l.emit(&ir.Fail{Code: ir.FailDivide, Coord: l.coords(e)}) })
		if never(ir.Unequal(den, ir.Zero(t))) {
			return
		}
		// The quotient of the least integer by -1 wraps, as its negation does.
		minus := ir.Negated(ir.One(t))
		l.set(r, ir.Choose(ir.Equal(den, minus), ir.Negated(p.v),
			ir.Over(p.v, ir.Choose(ir.Equal(den, minus), ir.One(t), den))))
	})
	return value{p.pres, r, true}
}

// coords are the coordinates of the leaf's variables, in the order of its
// bounds: -1 for one that is not bound here.
func (l *lowerer) coords(e *env) []ir.Expr {
	var at []ir.Expr
	for _, v := range l.spec.Vars[:min(len(l.spec.Vars), ir.MaxFailCoord)] {
		if c, ok := e.coord[v]; ok {
			at = append(at, c)
		} else {
			at = append(at, ir.Int(-1))
		}
	}
	return at
}
