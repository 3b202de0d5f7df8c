package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// randomAccess is what the assemblies have in common in which a value's
// position does not hang on those that were written before: the memory is the caller's,
// values are written in any order and by several threads, and no coordinate is placed.
// The loops are those of the operands alone, so that loop, chunks and sum are not asked.
type randomAccess struct{ *result }

// The values are the caller's memory: nothing is made before or after.
func (randomAccess) whole(_ bool, run func()) { run() }

func (randomAccess) inOrder() bool { return false }

func (randomAccess) loop(f *cin.Forall, _ *env, k int, _ bool) ir.Expr {
	panic("BUG: lower: a loop places coordinates of a result with random access")
}

func (randomAccess) chunks(ir.Expr, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	panic("BUG: lower: chunks of a result with random access")
}

func (a randomAccess) store(x value, e *env) {
	a.l.store(a.vals(), e.res.pos, ir.Convert(a.vals().Elem, a.l.masked(x)))
}

func (randomAccess) sumsInPlace(cin.Stmt, *cin.Access, int) bool { return false }

func (randomAccess) sum(*cin.Where, *cin.Access, *env) ir.Expr {
	panic("BUG: lower: a workspace is summed in a result with random access")
}

// denseResult is a result of dense levels alone. The position of a coordinate is
// computed from it; there is no pattern, so that pattern is "" and at is not asked.
type denseResult struct{ randomAccess }

func newDenseResult(r *result) *denseResult {
	r.values = r.op.vals()
	return &denseResult{randomAccess{r}}
}

func (*denseResult) pattern() string { return "" }

func (*denseResult) at(ir.Expr) resultCursor {
	panic("BUG: lower: a dense result follows no pattern")
}
