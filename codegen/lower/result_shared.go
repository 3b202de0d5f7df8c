package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// sharedResult is a result whose level arrays are an operand's. Every entry of that
// operand gives a value, or a block of dense levels, at the position of the entry. The leaf
// writes values alone, and cannot write to a coordinate that the operand lacks.
type sharedResult struct {
	randomAccess
	key string // of the access to the operand
	// cleared: all values are 0 before the first is added, since loops come back to them.
	cleared bool
}

func newSharedResult(r *result) *sharedResult {
	r.values = r.op.vals()
	return &sharedResult{randomAccess: randomAccess{r}, key: r.l.spec.Share}
}

func (a *sharedResult) pattern() string { return a.key }

func (a *sharedResult) at(p ir.Expr) resultCursor {
	return resultCursor{level: a.deep + 1, pos: p, zeroed: a.cleared}
}

func (a *sharedResult) clear(lo, hi ir.Expr) {
	a.cleared = true
	size := a.block(a.deep + 1)
	a.l.emit(&ir.Fill{A: a.vals(), Lo: ir.Times(lo, size), Hi: ir.Times(hi, size), X: ir.Zero(a.vals().Elem)})
}

// clearBefore sets the values of a result with an operand's pattern to 0 where a loop of a sum is
// around one that leads to them, and so comes back to each.
func (l *lowerer) clearBefore(s cin.Stmt, e *env) {
	a, ok := l.assembly.(interface{ clear(lo, hi ir.Expr) })
	if !ok || !l.comesBack(s) && !l.sharesFirst() {
		return
	}
	a.clear(l.positions(e.cur[l.assembly.pattern()], l.out.deep, e))
}

// sharesFirst tells whether several threads may be the first that come to a position of a mapped
// result, as those of a GPU that each have a part of its block.
func (l *lowerer) sharesFirst() bool {
	_, mapped := l.assembly.(*mappedResult)
	return mapped && l.spec.GPU
}

// comesBack tells whether loops come to a value, or to a block that is set to 0 as a whole, more than
// once: a loop over another variable is around one over a variable of the result down to its last
// compressed level, or is fused with one. Where values are assigned the others are those that are
// summed; a loop fused over positions then comes to every place, and to a place's terms in turn. A
// mapped result's blocks are set to 0 where a loop first comes to them, so that loops over the dense
// levels below come back too.
func (l *lowerer) comesBack(s cin.Stmt) bool {
	_, mapped := l.assembly.(*mappedResult)
	leads := l.resultVars[:l.out.deep+1]
	once := l.resultVars
	if mapped {
		once = leads
	}
	found := false
	cin.Paths(s, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != l.out.op.Name {
			return
		}
		around := false
		for _, f := range loops {
			roots := l.sched.g.Underived(f.Var)
			leading := slices.ContainsFunc(roots, func(v string) bool { return slices.Contains(leads, v) })
			again := slices.ContainsFunc(roots, func(v string) bool { return !slices.Contains(once, v) })
			found = found || leading && (around || again && (mapped || l.sched.g.PositionsOf(f.Var) == ""))
			around = around || again
		}
	})
	return found
}
