package scope

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// Masked returns the value, or 0 if it is absent.
func (l *Leaf) Masked(x Value) ir.Expr {
	zero := ir.Zero(l.Spec.Compute)
	switch {
	case ir.IsFalse(x.Pres):
		return zero
	case ir.Always(x.Pres), x.Zeroed:
		return x.V
	}
	return ir.Choose(x.Pres, x.V, zero)
}

// Presence returns the condition under which an expression is present. It does not compute the
// value.
func (e *Env) Presence(x cin.Expr) ir.Expr {

	switch x := x.(type) {
	case *cin.Access:
		return e.accessPresence(x)
	case *cin.Neg:
		return e.Presence(x.X)
	case *cin.Call:
		if !x.Func.KeepsZero {
			break
		}
		p := ir.Expr(ir.Truth(x.Func.NeedsAll))
		for _, y := range x.Args {
			if x.Func.NeedsAll {
				p = ir.Both(p, e.Presence(y))
			} else {
				p = ir.Either(p, e.Presence(y))
			}
		}
		return p
	case *cin.Binary:
		switch p := e.Presence(x.X); x.Op {
		case '+', '-':
			return ir.Either(p, e.Presence(x.Y))
		case '*':
			return ir.Both(p, e.Presence(x.Y))
		case '/':
			return p
		}
	}
	return ir.Truth(true)
}

// Expr lowers the expression x. The parameter under is the condition that all other factors of x's
// term are present. If this condition is false at run time, a division of integers in x does not
// fail.
func (e *Env) Expr(x cin.Expr, under ir.Expr) Value {
	l := e.Leaf
	switch x := x.(type) {
	case *cin.Access:
		return e.Access(x)
	case *cin.Lit:
		return Value{Pres: ir.Truth(true), V: ir.Convert(l.Spec.Compute, x.Value), Zeroed: true}
	case *cin.Call:
		return e.call(x, under)
	case *cin.Neg:
		y := e.Expr(x.X, under)
		if ir.IsFalse(y.Pres) {
			return y
		}
		return Value{Pres: y.Pres, V: ir.Negated(y.V), Zeroed: ir.Always(y.Pres)} // -0 is not the zero of absence
	case *cin.Binary:
		if x.Op == '*' && l.Spec.Compute.IsInt() {
			return l.product(e.Expr(x.X, ir.Both(under, e.Presence(x.Y))), e.Expr(x.Y, ir.Both(under,
				e.Presence(x.X))))
		}
		if x.Op == '/' && ir.IsFalse(e.Presence(x.X)) {
			return absentValue
		}
		p := e.Expr(x.X, under)
		if x.Op == '/' {
			under = ir.Both(under, p.Pres)
		}
		q := e.Expr(x.Y, under)
		switch x.Op {
		case '+':
			return l.sum(ir.Add, p, q)
		case '-':
			return l.sum(ir.Sub, p, q)
		case '*':
			return l.product(p, q)
		case '/':
			return e.quotient(p, q, under)
		}
	}
	panic(fmt.Sprintf("BUG: lower: expression %T", x))
}

// accessPresence returns the condition under which an access is present. It may be called before
// the access's dense levels have been entered.
func (e *Env) accessPresence(a *cin.Access) ir.Expr {
	if t, ok := e.Temps.Get(a.Name); ok {
		return t.Pres
	}
	if r, ok := e.Rows.Get(a.Name); ok {
		return r.Pres
	}
	if c := e.Cur[a.Key()]; c != nil {
		return c.Present
	}
	panic("BUG: lower: access " + a.Key() + " is not in scope")
}

// Access returns the value of an access.
func (e *Env) Access(a *cin.Access) Value {
	if t, ok := e.Temps.Get(a.Name); ok {
		return t
	}
	if r, ok := e.Rows.Get(a.Name); ok {
		if ir.IsFalse(r.Pres) {
			return absentValue
		}
		return Value{Pres: r.Pres, V: ir.At(r.Sums, e.Lane(a.Vars[0])), Zeroed: true}
	}
	c := e.Cur[a.Key()]
	if c == nil {
		panic("BUG: lower: access " + a.Key() + " is not in scope")
	}
	if ir.IsFalse(c.Present) {
		return absentValue
	}
	if c.Value == nil {
		panic("BUG: lower: the value of " + a.Key() + " is not known here")
	}
	return Value{Pres: c.Present, V: c.Value, Zeroed: true, Found: c.Of.Mark != nil}
}

func (l *Leaf) sum(op ir.Op, p, q Value) Value {
	switch {
	case ir.IsFalse(q.Pres):
		return p
	case ir.IsFalse(p.Pres) && op == ir.Sub:
		return Value{Pres: q.Pres, V: ir.Negated(q.V), Zeroed: ir.Always(q.Pres)}
	case ir.IsFalse(p.Pres):
		return q
	}
	// If one side is absent, the result is the other side alone. Adding a zero instead would turn
	// -0 into 0, and a division can distinguish the two. Both sides are written twice. Therefore a
	// sum inside them gets a name; otherwise the code would double with every operand.
	p, q = l.nameChoice(p), l.nameChoice(q)
	alone := q.V
	if op == ir.Sub {
		alone = ir.Negated(q.V)
	}
	both := ir.Choose(q.Pres, ir.Bin(op, p.V, q.V), p.V)
	return Value{Pres: ir.Either(p.Pres, q.Pres), V: ir.Choose(p.Pres, both, alone),
		Zeroed: ir.Always(p.Pres) || ir.Always(q.Pres) || q.Zeroed && op == ir.Add}
}

// nameChoice returns x. If the value of x is a conditional expression (ir.Select), nameChoice emits
// a variable that holds it, and returns x with the variable as its value.
func (l *Leaf) nameChoice(x Value) Value {
	if _, ok := x.V.(*ir.Select); ok {
		x.V = l.B.Named("sum", x.V)
		x.Pres = l.nameCondition(x.Pres)
	}
	return x
}

// nameCondition returns the condition pres as a constant or a variable. Generated code can then use
// the condition several times at no cost. If pres is neither a constant nor a variable,
// nameCondition declares a new variable.
func (l *Leaf) nameCondition(pres ir.Expr) ir.Expr {
	if _, ok := pres.(*ir.Var); ok || ir.Always(pres) || ir.IsFalse(pres) {
		return pres
	}
	return l.B.Named("some", pres)
}

func (l *Leaf) product(p, q Value) Value {
	if ir.IsFalse(p.Pres) || ir.IsFalse(q.Pres) {
		return absentValue
	}
	pres := ir.Both(p.Pres, q.Pres)
	x := Value{Pres: pres, V: ir.Times(p.V, q.V), Zeroed: ir.Always(pres)}
	if (p.Found || q.Found) && p.Zeroed && q.Zeroed {
		x.Zeroed, x.Found = true, true
		x.V = l.zeroOrNaN(pres, x.V)
	}
	return x
}

// zeroOrNaN returns x, a product that is 0 or a NaN if pres is false: it is a NaN if a factor is
// infinite or a NaN. The result is 0 if pres is false. Only products that are NaNs are tested.
func (l *Leaf) zeroOrNaN(pres, x ir.Expr) ir.Expr {
	if ir.Always(pres) || l.Spec.Compute.IsInt() {
		return x
	}
	v := l.B.Local("term", x)
	l.B.When(ir.Unequal(v, v), func() {
		l.B.When(ir.Inverse(pres), func() { l.B.Set(v, ir.Zero(v.Typ)) })
	})
	return v
}

// quotient returns the value p/q. The value is absent if p is absent. An absent q counts as 0. If p
// is present, the result is then a division by zero. A division of integers by zero makes the leaf
// fail, but only if the condition under is true.
func (e *Env) quotient(p, q Value, under ir.Expr) Value {
	l := e.Leaf
	if ir.IsFalse(p.Pres) {
		return p
	}
	if !l.Spec.Compute.IsInt() {
		return Value{Pres: p.Pres, V: ir.Over(p.V, l.Masked(q)), Zeroed: ir.Always(p.Pres)}
	}
	t := l.Spec.Compute
	r := l.B.Local("quot", ir.Zero(t))
	l.B.When(under, func() {
		den := l.B.Named("den", l.Masked(q))
		l.B.When(ir.Equal(den, ir.Zero(t)),
			func() { l.B.Emit(&ir.Fail{Code: ir.FailDivide, Coord: e.Coords()}) })
		if ir.IsFalse(ir.Unequal(den, ir.Zero(t))) {
			return
		}
		if t.IsUnsigned() {
			l.B.Set(r, ir.Over(p.V, ir.Choose(ir.Equal(den, ir.Zero(t)), ir.One(t), den)))
			return
		}
		// The quotient of the smallest integer and -1 wraps around, like its negation.
		minus := ir.Negated(ir.One(t))
		l.B.Set(r, ir.Choose(ir.Equal(den, minus), ir.Negated(p.V),
			ir.Over(p.V, ir.Choose(ir.Equal(den, minus), ir.One(t), den))))
	})
	return Value{Pres: p.Pres, V: r, Zeroed: true}
}

// Coords returns the current coordinate of each variable of the leaf, in the order of
// Leaf.Spec.Vars. The coordinate is -1 for a variable that is not bound in e. If there are more
// than ir.MaxFailCoord variables, the later ones are left out.
func (e *Env) Coords() []ir.Expr {
	l := e.Leaf
	var at []ir.Expr
	for _, v := range l.Spec.Vars[:min(len(l.Spec.Vars), ir.MaxFailCoord)] {
		if c, ok := e.Coord.Get(v); ok {
			at = append(at, c)
		} else {
			at = append(at, ir.Int(-1))
		}
	}
	return at
}
