package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// cutRows lowers a loop that sums into a dense result too large for partial ones,
// such as that over the columns of a matrix in CSC that multiplies a vector: each
// thread has an even part of the result's rows, and walks all columns, each from
// where a search finds the part's first row. Every value is summed in the loop's
// order, so that the number of threads shows in no bit. It gives up, with false,
// where the loop inside f is not over the rows, or columns are so short that to
// find the parts costs what they save.
func (l *lowerer) cutRows(f *cin.Forall, e *env) bool {
	if l.rowParts > 0 || e.res.level != 0 || len(l.resultVars) == 0 {
		return false
	}
	v := l.resultVars[0]
	inner, ok := f.Body.(*cin.Forall)
	if _, cut := e.ranges[v]; !ok || cut || inner.Var != v || !l.longColumns(inner, f.Var, e) {
		return false
	}
	serial := &cin.Forall{Var: f.Var, Body: f.Body}
	alone := l.within(func() { l.serial(serial, e.clone(), false) })
	parted := l.within(func() {
		all := l.span(e, v)
		at := func(c ir.Expr) ir.Expr {
			return ir.Plus(all.lo, ir.Over(ir.Times(ir.Minus(all.hi, all.lo), c), l.threads))
		}
		c := l.newVar("part")
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: l.threads, Step: 1, Kind: ir.Parallel, Body: l.inScope(func() {
			in := e.clone()
			in.ranges[v] = span{lo: l.named(v+"_from", at(c)), hi: l.named(v+"_to", at(ir.Plus(c, ir.Int(1)))), clip: true}
			l.serial(serial, in, false)
		})})
	})
	l.emit(&ir.If{Cond: ir.AtMost(l.threads, ir.Int(1)), Then: alone, Else: parted})
	e.res.zeroed = true
	return true
}

// longColumns tells whether the segments that a loop over the rows walks are long
// enough to be parted: minSegment entries on the average. Where counts are not
// known, they are taken to be.
func (l *lowerer) longColumns(rows *cin.Forall, column string, e *env) bool {
	long := true
	cin.Accesses(rows.Body, func(a *cin.Access) {
		c := e.cur[a.Key()]
		if c == nil {
			return
		}
		for k, u := range c.vars {
			if u != rows.Var || c.op.caps(k).Locate {
				continue
			}
			// One entry for each above, or a segment for each of the column's.
			switch counts := c.op.Counts; {
			case !c.op.caps(k).HasPos || k == 0 || c.vars[k-1] != column:
				long = false
			case counts != nil:
				long = long && counts[k] >= minSegment*counts[k-1]
			}
		}
	})
	return long
}
