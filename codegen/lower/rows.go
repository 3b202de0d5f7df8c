package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// ownRows lowers a loop that sums into a dense result too large for partial ones: each
// thread has an even part of the range of a variable v of the result, and runs the whole
// loop for it. In one such as that over the columns of a matrix in CSC that multiplies a
// vector it has rows, and finds a part's first in each column by a search; in contractions the
// intermediates over v have places for the part alone. Every value is summed in the
// loop's order, so that the number of threads shows in no bit.
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
