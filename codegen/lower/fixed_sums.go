package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
)

// fixedSums replaces a workspace whose sums go to a result with a fixed pattern. The sums are added
// directly in the result.
type fixedSums struct {
	a     *fixedResult
	name  string
	from  int // the first level of the sums
	e     *env
	vars  []string
	first ir.Expr // the start of the current row of level from, if that level is compressed
	end   ir.Expr
	// place is indexed by the coordinates of level from, minus base. It has 1 plus the position of
	// the coordinate in the last row that has it. The position belongs to the current row if the
	// entry exceeds first. If place is nil, and on the levels below, positions are searched for.
	place *ir.Array
	base  ir.Expr
}

// sumsInPlace reports whether t can be summed in the result: consumer only copies t to the result,
// and the result has the type in which t is summed.
func (a *fixedResult) sumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool {
	return k <= a.deep && a.vals().Elem == a.l.spec.Compute && a.l.copiesTo(consumer, t, k)
}

// sum emits code that sets the current row to 0, and adds to it the values that the producer would
// add to the workspace.
func (a *fixedResult) sum(s *cin.Where, t *cin.Access, e *env) ir.Expr {
	l := a.l
	w := &fixedSums{a: a, name: t.Name, from: e.res.level, e: e, vars: t.Vars}
	end := l.b.Declare(a.op.Prefix()+"_rows_end", a.done)
	if a.op.Kind(w.from).HasPos() {
		w.first, w.end = a.row(e, w.from)
		l.b.Set(end, a.firstBelow(w.from+1, w.end))
	} else {
		here := e.res.here
		if here == nil {
			here = ir.Truth(true)
		}
		behind := ir.Times(ir.Plus(e.res.pos, ir.Int(1)), a.op.Size(w.from))
		l.b.When(here, func() { l.b.Set(end, a.firstBelow(w.from+1, behind)) })
	}
	if w.first != nil && l.spec.Strategy.Result.Places[l.resultVars[w.from]] {
		w.scatterPositions(l)
	}
	a.zeroUntil(end)
	return l.stmt(s.Producer, e.filling(t.Name, w), false)
}

// copiesTo reports whether s only copies t to the levels of the result from k on.
func (l *lowerer) copiesTo(s cin.Stmt, t *cin.Access, k int) bool {
	for _, v := range l.resultVars[k:] {
		f, ok := s.(*cin.Forall)
		if !ok || f.Var != v || f.Unit != cin.Serial || !slices.Contains(t.Vars, v) {
			return false
		}
		s = f.Body
	}
	set, ok := s.(*cin.Assign)
	if !ok || !l.assigns(set) || set.Accumulate || len(t.Vars) != len(l.resultVars)-k {
		return false
	}
	x, ok := set.RHS.(*cin.Access)
	return ok && x.Key() == t.Key()
}

// scatterPositions emits code that stores each position of the current row in w.place, at the index
// of its coordinate.
func (w *fixedSums) scatterPositions(l *lowerer) {
	a := w.a
	b := l.bounds[l.resultVars[w.from]]
	w.base = b[0]
	w.place = emit.Kept(l.b, w.name+", place", func() *ir.Array {
		place := l.b.Array(w.name+"_place", tree.IntOf(a.op.Argument.PosWidth[w.from]))
		return l.b.AllocInScope(place, ir.Minus(b[1], b[0]), true)
	})
	_, crd := a.arrays(w.from)
	o := l.b.Var(a.op.Prefix() + "_p")
	l.b.Emit(&ir.For{V: o, Lo: w.first, Hi: w.end, Step: 1, Body: l.b.Within(func() {
		l.b.Store(w.place, ir.Minus(ir.Coord(crd, o), w.base), ir.Plus(o, ir.Int(1)))
	})})
}

func (w *fixedSums) add(l *lowerer, t *cin.Access, x ir.Expr, e *env) {
	a := w.a
	at := func(k int) ir.Expr { return e.coord.at(l.resultVars[k]) }
	p, k := w.e.res.pos, w.from
	if w.place != nil {
		behind := l.b.Named(w.name+"_at", ir.Coord(w.place, ir.Minus(at(k), w.base)))
		held := ir.Less(w.first, behind)
		if w.e.res.here != nil { // otherwise place may have entries of an earlier row
			held = ir.Both(w.e.res.here, held)
		}
		l.failUnless(held, e)
		p = ir.Minus(behind, ir.Int(1))
		k++
	}
	for ; k < a.op.Order(); k++ {
		if !a.op.Kind(k).HasPos() {
			if k == w.from && w.e.res.here != nil {
				l.failUnless(w.e.res.here, e)
			}
			p = l.b.Named(a.op.Prefix()+"_p",
				ir.Plus(ir.Times(p, a.op.Size(k)), ir.Minus(at(k), a.op.Offset(k))))
			continue
		}
		pos, crd := a.arrays(k)
		lo, hi := w.first, w.end
		if k > w.from {
			lo, hi = l.b.Named(a.op.Prefix()+"_row", ir.Coord(pos, p)),
				l.b.Named(a.op.Prefix()+"_row_end", ir.Coord(pos, ir.Plus(p, ir.Int(1))))
		}
		p = l.b.Named(a.op.Prefix()+"_p", &ir.Search{A: crd, Lo: lo, Hi: hi, Key: at(k)})
		l.failUnless(a.holds(k, p, hi, at(k)), e)
	}
	l.b.Emit(&ir.Store{A: a.vals(), Index: p, Accumulate: true, X: x})
}
