package lower

import "distaff/codegen/ir"

// initialCapacity returns the initial capacity, in entries, of the arrays of the result: the
// strategy's factor times the entries of all sparse operands, limited by the strategy's bound.
func (a *appendResult) initialCapacity() ir.Expr {
	n := ir.Expr(ir.Int(16))
	for _, o := range a.l.spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.l.ops[o.Name].nnz())
		}
	}
	n = ir.Times(n, ir.Int(a.l.spec.Strategy.Result.Factor))
	if most := a.l.spec.Strategy.Result.Most; most > 0 {
		n = ir.Least(n, ir.Int(most))
	}
	return n
}
