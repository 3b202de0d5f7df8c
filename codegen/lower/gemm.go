package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
)

// gemm lowers nested loops around a product of dense operands to one matrix product. count is the
// number of loops. It first lowers them like any other loops, and then recognizes the matrix
// product in the code. The recognition therefore does not depend on how operands are stored. A
// refusal says which part of the code is not a matrix product.
func (l *lowerer) gemm(f *cin.Forall, e *env, count int, want bool) ir.Expr {
	if f.Unit != cin.Serial {
		panic(&Refusal{Var: f.Var,
			Why: "the loop over " + f.Var + " already runs on " + f.Unit.String() + ", so gemm " +
				"cannot run it"})
	}
	var some ir.Expr
	b := l.b.Within(func() { some = l.loop(f, e, false) })
	if ir.Never(some) {
		l.b.Append(b) // a factor is absent here
		return some
	}
	any, why := rewrite.Gemm(b, count, l.spec.GPU, l.tensorOf)
	if why != "" {
		l.refuse(f.Var, "%s", why)
	}
	l.b.Append(b)
	if want {
		some = any
	}
	return some
}

// tensorOf returns the name of the tensor whose values are in an array, or "".
func (l *lowerer) tensorOf(a *ir.Array) string {
	for name, o := range l.ops {
		if o.HasVals(a) {
			return name
		}
	}
	return ""
}

// hasGemm reports whether a matrix product, which uses its own threads, replaces some loops.
func (l *lowerer) hasGemm() bool {
	for _, o := range l.spec.Strategy.Loops {
		if o.Gemm > 0 {
			return true
		}
	}
	return false
}
