package lower

import "distaff/codegen/ir"

// initialCapacity is how many entries there is to be capacity for at first: those of the
// sparse operands together, or growth times as many, if the result has as many coordinates.
func (a *appendResult) initialCapacity() ir.Expr {
	n := ir.Expr(ir.Int(16))
	for _, o := range a.l.spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.l.ops[o.Name].nnz())
		}
	}
	n = ir.Times(n, ir.Int(a.l.spec.Strategy.Result.Growth))
	all := 1.0
	for _, v := range a.l.resultVars[:a.deep+1] {
		all *= float64(a.l.spec.Sizes[v])
	}
	if all < 1<<40 {
		n = ir.Least(n, ir.Int(int64(all)+1))
	}
	if most := a.l.spec.Strategy.Result.Most; most > 0 {
		n = ir.Least(n, ir.Int(most))
	}
	return n
}
