package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// randomAccess is what the assemblies have in common in which a value's position does not
// depend on the values that were written before. The memory is the caller's. Values may be
// written in any order and by several threads, and no coordinate is stored. Loops visit the
// coordinates of the operands alone: calling loop, chunks or sum is a bug.
type randomAccess struct{ *result }

// whole runs the statement: there is nothing to allocate before it, or to publish after it.
func (randomAccess) whole(_ bool, run func()) { run() }

func (randomAccess) inOrder() bool { return false }

func (randomAccess) loop(f *cin.Forall, _ *env, k int, _ bool) ir.Expr {
	panic("BUG: lower: a loop places coordinates of a result with random access")
}

func (randomAccess) chunks(ir.Expr, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	panic("BUG: lower: chunks of a result with random access")
}

func (a randomAccess) store(x value, e *env) {
	s := &ir.Store{A: a.vals(), Index: e.res.pos, X: ir.Convert(a.vals().Elem, a.l.masked(x))}
	a.l.writtenOnce[s] = a.vals() == a.op.vals()
	a.l.emit(s)
}

func (randomAccess) sumsInPlace(cin.Stmt, *cin.Access, int) bool { return false }

func (randomAccess) sum(*cin.Where, *cin.Access, *env) ir.Expr {
	panic("BUG: lower: a workspace is summed in a result with random access")
}

// denseResult is a result of dense levels alone. The position of a coordinate is
// computed from the coordinate. There is no pattern to follow: calling at is a bug.
type denseResult struct{ randomAccess }

func newDenseResult(r *result) *denseResult {
	r.values = r.op.vals()
	return &denseResult{randomAccess{r}}
}

func (*denseResult) pattern() string { return "" }

func (*denseResult) at(ir.Expr) resultCursor {
	panic("BUG: lower: a dense result follows no pattern")
}
