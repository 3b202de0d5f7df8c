package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// ownRows lowers a loop that sums into a dense result that is too large for partial results. Each
// thread has an even part of the range of a variable v of the result, and runs the whole loop for
// this part. In a loop over the columns of a CSC matrix that multiplies a vector, a thread has
// rows, and it finds the first row of its part in each column by a search. In contractions, the
// intermediates over v have places only for the thread's part. Every value is summed in the order
// of the loop, so the result does not depend on the number of threads.
func (l *lowerer) ownRows(f *cin.Forall, e *env, v string) {
	serial := &cin.Forall{Var: f.Var, Body: f.Body}
	if v != l.resultVars[0] {
		l.zero(e)
	}
	alone := l.inScope(func() { l.serial(serial, e.clone(), false) })
	parted := l.within(func() {
		all := l.rangeOf(e, v)
		at := func(c ir.Expr) ir.Expr {
			return ir.Plus(all.lo, ir.Over(ir.Times(ir.Minus(all.hi, all.lo), c), l.threads))
		}
		c := l.newVar("part")
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: l.threads, Step: 1, Kind: ir.Parallel,
			Body: l.inScope(func() {
				in, outer := e.clone(), l.own
				s := coordRange{clip: true}
				l.pre = l.within(func() {
					s.lo, s.hi = l.named(v+"_from", at(c)),
						l.named(v+"_to", at(ir.Plus(c, ir.Int(1))))
				})
				in.ranges[v] = s
				l.own = map[string]coordRange{v: s}
				l.serial(serial, in, false)
				l.own = outer
			})})
	})
	l.emit(&ir.If{Cond: ir.AtMost(l.threads, ir.Int(1)), Then: alone, Else: parted})
	e.res.zeroed = true
}
