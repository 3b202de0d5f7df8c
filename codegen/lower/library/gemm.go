// Package library replaces loops by calls: of a BLAS (gemm.go), of a user's function (extern.go),
// or of a GPU library that multiplies sparse matrices (spmm.go).
package library

import (
	"maps"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
)

// Gemm lowers nested loops around a product of dense operands to one matrix product. f is the
// outermost of loopCount loops. Gemm first calls emitLoops, which lowers the loops like any other
// loops, and then looks for the matrix product in the emitted code. It therefore need not know how
// the operands are stored. If a factor is absent, nothing is added, and the code stays as it is. If
// the code is not a matrix product for another reason, Gemm refuses the schedule. The message says
// which part of the code prevents the product.
func Gemm(f *cin.Forall, e *scope.Env, loopCount int, want bool, emitLoops func() ir.Expr) ir.Expr {
	l := e.Leaf
	if f.Unit != cin.Serial {
		panic(&scope.Refusal{Var: f.Var,
			Why: "the loop over " + f.Var + " already runs on " + f.Unit.String() + ", so gemm " +
				"cannot run it"})
	}
	var some ir.Expr
	b := l.B.Within(func() { some = emitLoops() })
	if ir.IsFalse(some) {
		l.B.Append(b) // a factor is absent here
		return some
	}
	any, why := rewrite.Gemm(b, loopCount, l.Spec.CuBLAS, l.Spec.GPU,
		func(a *ir.Array) string { return tensorOf(a, e) })
	if why != "" {
		l.Refuse(f.Var, "%s", why)
	}
	l.B.Append(b)
	if want {
		some = any
	}
	return some
}

// tensorOf returns the name of the tensor whose values are in an array, or "".
func tensorOf(a *ir.Array, e *scope.Env) string {
	for _, name := range slices.Concat(e.Made.Names(), slices.Collect(maps.Keys(e.Leaf.Ops))) {
		if e.Operand(name).HasVals(a) {
			return name
		}
	}
	return ""
}

// HasGemm reports whether a matrix product, which uses its own threads, replaces some loops.
func HasGemm(l *scope.Leaf) bool {
	for _, o := range l.Spec.Strategy.Loops {
		if o.Gemm > 0 {
			return true
		}
	}
	return false
}
