package emit

import "distaff/codegen/ir"

// MaxPoints is the largest number of points of fused variables, or of elements of an array, that a
// leaf can number. It is smaller than the largest int64, so that the number does not overflow when
// a split or tile adds the length of a chunk.
const MaxPoints = 1 << 62

// Capped returns x * y of two numbers that are not negative, or MaxPoints if the product is larger.
func Capped(x, y ir.Expr) ir.Expr {
	if one, ok := x.(*ir.Lit); ok && one.I <= 1 {
		return ir.Times(x, y)
	}
	if one, ok := y.(*ir.Lit); ok && one.I <= 1 {
		return ir.Times(x, y)
	}
	most := ir.Over(ir.Int(MaxPoints), ir.Greatest(y, ir.Int(1)))
	return ir.Choose(ir.Less(most, x), ir.Int(MaxPoints), ir.Times(x, y))
}

// Part returns where part k starts if a range is cut into even parts: lo + ⌊(hi-lo)·k/parts⌋. It
// avoids the product of k and the length, which may overflow.
func Part(lo, hi, k, parts ir.Expr) ir.Expr {
	n := ir.Minus(hi, lo)
	return ir.Plus(lo, ir.Plus(ir.Times(ir.Over(n, parts), k),
		ir.Over(ir.Times(ir.Modulo(n, parts), k), parts)))
}
