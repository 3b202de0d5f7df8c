package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// ownRows lowers a loop that sums into a dense result too large for partial ones,
// such as that over the columns of a matrix in CSC that multiplies a vector: each
// thread has an even part of the result's rows, and walks all columns, each from
// where a search finds the part's first row. Every value is summed in the loop's
// order, so that the number of threads shows in no bit.
func (l *lowerer) ownRows(f *cin.Forall, e *env) {
	v := l.resultVars[0]
	serial := &cin.Forall{Var: f.Var, Body: f.Body}
	alone := l.within(func() { l.serial(serial, e.clone(), false) })
	parted := l.within(func() {
		all := l.rangeOf(e, v)
		at := func(c ir.Expr) ir.Expr {
			return ir.Plus(all.lo, ir.Over(ir.Times(ir.Minus(all.hi, all.lo), c), l.threads))
		}
		c := l.newVar("part")
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: l.threads, Step: 1, Kind: ir.Parallel, Body: l.inScope(func() {
			in := e.clone()
			in.ranges[v] = coordRange{lo: l.named(v+"_from", at(c)), hi: l.named(v+"_to", at(ir.Plus(c, ir.Int(1)))), clip: true}
			l.serial(serial, in, false)
		})})
	})
	l.emit(&ir.If{Cond: ir.AtMost(l.threads, ir.Int(1)), Then: alone, Else: parted})
	e.res.zeroed = true
}
