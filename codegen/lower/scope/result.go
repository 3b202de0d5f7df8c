package scope

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
)

// Result has the data about the leaf's result that all assemblies share.
type Result struct {
	Leaf *Leaf
	Op   *tree.Operand
	Deep int // the last compressed level, or -1 if there is none
	// Values is the array that values are currently written to.
	Values *ir.Array
	// InOrder is true if the result's coordinates must be visited in storage order.
	InOrder bool
	// Pattern is the key of the access to the operand that shares its pattern with the result, or
	// "" if there is none. At returns the result's cursor for position p of that operand, in the
	// level that corresponds to the result's last compressed level.
	Pattern string
	At      func(p ir.Expr) ResultCursor
}

// ResultCursor is a cursor in the result. It says how far the bound variables lead down the
// result's levels.
type ResultCursor struct {
	Level int
	Pos   ir.Expr
	Base  ir.Expr // as in tree.Cursor
	// Zeroed is true if the values below are already 0, or if the leaf adds to existing values.
	// Otherwise each value is written once, or the whole block below is first set to 0.
	Zeroed bool
	// First, for values that are not zeroed, is the condition that they are written for the first
	// time. If it is false, the leaf adds to the existing values. nil means true.
	First ir.Expr
	// Here and Row are for a result with a fixed pattern. Here is the condition that the pattern
	// has the current coordinates, or nil if it always has them. Row is not nil if a value's
	// position is searched for when the value is stored: in the row that ends at Row.
	Here, Row ir.Expr
	// Tile, if it is not nil, is the array into which the row below is summed instead.
	Tile *ir.Array
}

// NewResult returns the data about the leaf's result. The assembly completes the data later.
func (l *Leaf) NewResult() *Result {
	op := l.Ops[l.Spec.Operands[0].Name]
	return &Result{Leaf: l, Op: op, Deep: op.Argument.Format.LastPos()}
}

// Sparse reports whether the result has compressed levels.
func (r *Result) Sparse() bool { return r.Deep >= 0 }

// WritingTo calls run with arr as the array that the result's values are written to.
func (r *Result) WritingTo(arr *ir.Array, run func()) {
	outer := r.Values
	r.Values = arr
	run()
	r.Values = outer
}

// Between returns the number of positions of level hi-1 below one position of level lo-1. All
// levels [lo, hi) must be dense. If the result is sparse and the number exceeds
// emit.MaxPoints, it returns emit.MaxPoints. The leaf then fails, because the memory for so many
// positions is refused.
func (r *Result) Between(lo, hi int) ir.Expr {
	if r.Sparse() && hi-lo > 1 {
		return r.Leaf.B.OnceAtStart(fmt.Sprintf("%s_under%d_%d", r.Op.Prefix(), lo, hi), func() ir.Expr {
			n := r.Op.Size(lo)
			for k := lo + 1; k < hi; k++ {
				n = r.Leaf.B.Named("values", emit.Capped(n, r.Op.Size(k)))
			}
			return n
		})
	}
	n := ir.Expr(ir.Int(1))
	for k := lo; k < hi; k++ {
		n = ir.Times(n, r.Op.Size(k))
	}
	return n
}

// Block returns the number of values under one position of level lo-1. The levels from lo on must
// be dense.
func (r *Result) Block(lo int) ir.Expr { return r.Between(lo, r.Op.Order()) }

// NextSparse returns the first compressed level from k on, or -1.
func (r *Result) NextSparse(k int) int {
	for ; k < r.Op.Order(); k++ {
		if r.Op.Kind(k).HasPos() {
			return k
		}
	}
	return -1
}

// PositionOf returns the position of cur in the result's last compressed level. cur is a cursor of
// the operand that shares the result's pattern.
func (r *Result) PositionOf(cur *tree.Cursor) ir.Expr {
	if cur.Level != r.Deep+1 {
		panic(&Refusal{Why: "the position of " + r.Op.Argument.Name +
			" in the pattern that it shares is not known here", Pattern: true})
	}
	return cur.Pos
}

// Prefixed reports whether f's variable is the variable of the result's level 0, so that chunks of
// f are blocks of the result.
func (r *Result) Prefixed(f *cin.Forall) bool {
	return r.Op.Order() > 0 && r.Leaf.ResultVars[0] == f.Var
}

// NeedsInit returns the condition that the leaf must still initialize the values below the cursor.
// The condition is false if the values were set to 0 before, or if the leaf adds to existing
// values.
func (c *ResultCursor) NeedsInit() ir.Expr {
	switch {
	case c.Zeroed:
		return ir.Truth(false)
	case c.First != nil:
		return c.First
	}
	return ir.Truth(true)
}
