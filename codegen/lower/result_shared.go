package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// sharedResult is a result whose level arrays belong to an operand. Every entry of that operand
// gives a value, or a block of dense levels, at the same position. The leaf writes only values, and
// cannot write to a coordinate that the operand does not have.
type sharedResult struct {
	randomAccess
	key string // the key of the access to the operand
	// cleared is true if all values are 0 before the first addition, because loops visit them
	// several times.
	cleared bool
}

func newSharedResult(r *result) *sharedResult {
	r.values = r.op.Vals()
	return &sharedResult{randomAccess: randomAccess{r}, key: r.l.spec.Share}
}

func (a *sharedResult) pattern() string { return a.key }

func (a *sharedResult) at(p ir.Expr) resultCursor {
	return resultCursor{level: a.deep + 1, pos: p, zeroed: a.cleared}
}

func (a *sharedResult) clear(lo, hi ir.Expr) {
	a.cleared = true
	size := a.block(a.deep + 1)
	a.l.b.Emit(&ir.Fill{A: a.vals(), Lo: ir.Times(lo, size), Hi: ir.Times(hi, size),
		X: ir.Zero(a.vals().Elem)})
}

// clearBefore emits code, before all loops, that sets the values of a result that shares a pattern
// to 0. It does so only if loops visit values several times, or cannot tell which values are
// absent.
func (l *lowerer) clearBefore(s cin.Stmt, e *env) {
	a, ok := l.assembly.(interface{ clear(lo, hi ir.Expr) })
	if !ok || !l.revisitsValues(s) && !l.sharesFirstVisit() && !l.absentInTiles(s) {
		return
	}
	a.clear(l.positions(e.cur[l.assembly.pattern()], l.out.deep, e))
}

// clearAbsent emits code that sets the values at the positions below e to 0, in a result that
// shares an operand's pattern. The values that would be stored there are absent, but the pattern
// includes their positions anyway.
func (l *lowerer) clearAbsent(e *env) {
	var shared *sharedResult
	switch a := l.assembly.(type) {
	case *sharedResult:
		shared = a
	case *mappedResult:
		shared = &a.sharedResult
	}
	if shared == nil || shared.cleared || e.res.zeroed || e.res.level > l.out.deep {
		return
	}
	c := e.cur[l.assembly.pattern()]
	if ir.Never(c.Present) {
		return
	}
	clear := func() {
		l.assembly.(interface{ clear(lo, hi ir.Expr) }).clear(
			l.positionsBelow(c, l.out.deep, e))
	}
	if ir.Always(c.Present) {
		clear()
	} else {
		l.b.When(c.Present, clear)
	}
	shared.cleared = false
}

// positionsBelow returns the range of positions of a level below a cursor. If the cursor is before
// all levels, it is the range of all visited positions.
func (l *lowerer) positionsBelow(c *tree.Cursor, level int, e *env) (lo, hi ir.Expr) {
	if c.Level == 0 {
		return l.positions(c, level, e)
	}
	lo, hi = c.Pos, ir.Plus(c.Pos, ir.Int(1))
	if c.End != nil {
		hi = c.End
	}
	for k := c.Level; k <= level; k++ {
		lo = l.b.Named(c.Of.Prefix()+"_s", c.Of.Below(k, lo))
		hi = l.b.Named(c.Of.Prefix()+"_e", c.Of.Below(k, hi))
	}
	return lo, hi
}

// absentInTiles reports whether a dense workspace may be absent inside loops of a schedule, while
// its consumer has loops over compressed levels of the result. The positions of a tile are not a
// known range there, so its values cannot be cleared.
func (l *lowerer) absentInTiles(s cin.Stmt) (found bool) {
	if len(l.sched.comps) == 0 {
		return false
	}
	cin.Walk(s, func(s cin.Stmt) {
		w, ok := s.(*cin.Where)
		if !ok || !l.assigns(w.Consumer) ||
			l.spec.Strategy.Spaces[cin.Target(w.Producer).Name].Form.Kind != strategy.Array {
			return
		}
		cin.Walk(w.Consumer, func(s cin.Stmt) {
			f, ok := s.(*cin.Forall)
			found = found || ok && slices.ContainsFunc(l.sched.g.Underived(f.Var),
				func(v string) bool { return slices.Contains(l.resultVars[:l.out.deep+1], v) })
		})
	})
	return found
}

// sharesFirstVisit reports whether several threads can be at a position of a mapped result when it
// is visited for the first time. On a GPU this is so, because each thread can have a part of the
// block of values at the position.
func (l *lowerer) sharesFirstVisit() bool {
	_, mapped := l.assembly.(*mappedResult)
	return mapped && l.spec.GPU
}

// revisitsValues reports whether loops visit a value more than once, or visit parts of a block that
// is set to 0 as one. This is so if a loop over another variable is around a loop over a variable
// of the result down to its last compressed level, or is fused with one. Other variables are the
// summed ones, and the variables of dense levels below the first dense one, because chunks of their
// ranges are not set to 0 separately. A loop that is fused over positions is allowed, because it
// visits every place once, with all its terms in sequence. The blocks of a mapped result are set to
// 0 at their first visit. For it, loops over all dense levels below and fused loops over positions
// count too.
func (l *lowerer) revisitsValues(s cin.Stmt) bool {
	_, mapped := l.assembly.(*mappedResult)
	compressed := l.resultVars[:l.out.deep+1]
	once := l.resultVars[:min(l.out.deep+2, len(l.resultVars))]
	if mapped {
		once = compressed
	}
	found := false
	cin.Paths(s, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != l.out.op.Argument.Name {
			return
		}
		around := false
		for _, f := range loops {
			roots := l.sched.g.Underived(f.Var)
			leading := slices.ContainsFunc(roots,
				func(v string) bool { return slices.Contains(compressed, v) })
			again := slices.ContainsFunc(roots, func(v string) bool { return !slices.Contains(once, v) })
			found = found || leading && (around || again && (mapped || l.sched.g.PositionsOf(f.Var) == ""))
			around = around || again
		}
	})
	return found
}
