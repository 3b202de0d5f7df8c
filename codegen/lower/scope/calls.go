package scope

import (
	"distaff/codegen/algebra"
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// call lowers a call of a function. An absent argument counts as 0. If the function is 0 at zeros,
// the call is present where one of its arguments is. Otherwise it is present everywhere. If under
// is false at run time, no division of integers fails.
func (e *Env) call(x *cin.Call, under ir.Expr) Value {
	l := e.Leaf
	if x.Func.Fills {
		return e.filled(e.Expr(x.Args[0], under), e.Expr(x.Args[1], under))
	}
	pres := ir.Expr(ir.Truth(!x.Func.KeepsZero))
	var args []ir.Expr
	for _, y := range x.Args {
		v := e.Expr(y, under)
		switch {
		case !x.Func.KeepsZero:
		case x.Func.NeedsAll && len(args) > 0:
			pres = ir.Both(pres, v.Pres)
		default:
			pres = ir.Either(pres, v.Pres)
		}
		args = append(args, l.Masked(v))
	}
	if ir.IsFalse(pres) {
		return absentValue
	}
	return Value{Pres: pres, V: l.apply(x.Func, args), Zeroed: true}
}

// filled returns x where x is present, and else y, which must be present.
func (e *Env) filled(x, y Value) Value {
	switch {
	case ir.IsFalse(x.Pres):
		return y
	case ir.Always(x.Pres):
		return x
	}
	return Value{Pres: ir.Truth(true), V: ir.Choose(x.Pres, x.V, y.V), Zeroed: true}
}

// Combined returns the value of x and y combined by reduction op.
func (l *Leaf) Combined(op *algebra.Reduction, x, y ir.Expr) ir.Expr {
	return l.apply(op.Combine, []ir.Expr{x, y})
}

// apply returns the value of f. The values of args have the type of the computation.
func (l *Leaf) apply(f *algebra.Function, args []ir.Expr) ir.Expr {
	t := l.Spec.Compute
	switch {
	case f == algebra.Times:
		return ir.Times(args[0], args[1])
	case f.NeedsAll:
		return ir.Plus(args[0], args[1])
	}
	if t == tensor.Bool {
		switch f.Name {
		case "min":
			return ir.Times(args[0], args[1])
		case "max":
			return ir.Plus(args[0], args[1])
		}
		return args[0]
	}
	if !t.IsInt() {
		x := &ir.Apply{Func: f, X: args[0]}
		if f.Args == 2 {
			x.Y = args[1]
		}
		return x
	}
	zero, one := ir.Zero(t), ir.One(t)
	switch x := args[0]; f.Name {
	case "abs":
		x = l.B.Named("x", x)
		return ir.Choose(ir.Less(x, zero), ir.Negated(x), x)
	case "sign":
		x = l.B.Named("x", x)
		return ir.Choose(ir.Less(x, zero), ir.Negated(one), ir.Choose(ir.Less(zero, x), one, zero))
	case "nonzero":
		return ir.Choose(ir.Unequal(x, zero), one, zero)
	case "min":
		return ir.Bin(ir.Min, x, args[1])
	case "max":
		return ir.Bin(ir.Max, x, args[1])
	}
	return args[0] // an integer is its own floor
}
