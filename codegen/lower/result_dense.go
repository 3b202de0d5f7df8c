package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// randomAccess is the common part of assemblies with random access: a value's position does not
// depend on the values that were written before. The memory belongs to the caller. Values may be
// written in any order and by several threads, and no coordinate is stored. Loops visit only
// coordinates of the operands, so calling loop, chunks or sum is a bug.
type randomAccess struct{ *result }

// whole runs the statement. Nothing must be allocated before it or published after it.
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
	a.l.lanes.Once[s] = a.vals() == a.op.Vals()
	a.l.b.Emit(s)
}

func (randomAccess) sumsInPlace(cin.Stmt, *cin.Access, int) bool { return false }

func (randomAccess) sum(*cin.Where, *cin.Access, *env) ir.Expr {
	panic("BUG: lower: a workspace is summed in a result with random access")
}

// denseResult is a result with only dense levels. The position of a coordinate is computed from the
// coordinate. The result has no operand's pattern, so calling at is a bug.
type denseResult struct{ randomAccess }

func newDenseResult(r *result) *denseResult {
	r.values = r.op.Vals()
	return &denseResult{randomAccess{r}}
}

func (*denseResult) pattern() string { return "" }

func (*denseResult) at(ir.Expr) resultCursor {
	panic("BUG: lower: a dense result follows no pattern")
}
