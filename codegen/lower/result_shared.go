package lower

import "distaff/codegen/ir"

// sharedResult is a result whose level arrays are an operand's. Every entry of that
// operand gives a value, or a block of dense levels, at the position of the entry. The leaf
// writes values alone, and cannot write to a coordinate that the operand lacks.
type sharedResult struct {
	randomAccess
	key string // of the access to the operand
}

func newSharedResult(r *result) *sharedResult {
	r.values = r.op.vals()
	return &sharedResult{randomAccess: randomAccess{r}, key: r.l.spec.Share}
}

func (a *sharedResult) pattern() string { return a.key }

func (a *sharedResult) at(p ir.Expr) resultCursor { return resultCursor{level: a.deep + 1, pos: p} }
