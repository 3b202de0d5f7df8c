package result

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// fixedSums is used instead of a workspace if SumsInPlace allows it. It adds the sums directly to
// the values of the result.
type fixedSums struct {
	a     *fixedResult
	name  string
	from  int // the first level of the sums
	e     *scope.Env
	vars  []string
	first ir.Expr // the start of the current row of level from, if that level is compressed
	end   ir.Expr
	// place is indexed by the coordinates of level from, minus base. It has 1 plus the position of
	// the coordinate in the last row that has it. The position belongs to the current row if the
	// entry exceeds first. If place is nil, and on the levels below, positions are searched for, or
	// computed in dense levels.
	place *ir.Array
	base  ir.Expr
}

// SumsInPlace reports whether the sums of workspace t can be added directly in the result. Three
// conditions must hold: the statement consumer only copies t to level k of the result and the
// levels below, one of these levels is compressed, and the values of the result have the type of
// the sums.
func (a *fixedResult) SumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool {
	return k <= a.out.Deep && a.out.Values.Elem == a.out.Leaf.Spec.Compute && copiesTo(a.out.Leaf,
		consumer, t, k)
}

// Sum emits code that sets the current row of the result to 0, and then adds values to it. The
// values are the ones that the producer in s would otherwise add to the workspace t.
func (a *fixedResult) Sum(s *cin.Where, t *cin.Access, e *scope.Env) ir.Expr {
	l := a.out.Leaf
	w := &fixedSums{a: a, name: t.Name, from: e.Res.Level, e: e, vars: t.Vars}
	end := l.B.Declare(a.out.Op.Prefix()+"_rows_end", a.done)
	if a.out.Op.Kind(w.from).HasPos() {
		w.first, w.end = a.row(e, w.from)
		l.B.Set(end, a.firstBelow(w.from+1, w.end))
	} else {
		here := e.Res.Here
		if here == nil {
			here = ir.Truth(true)
		}
		behind := ir.Times(ir.Plus(e.Res.Pos, ir.Int(1)), a.out.Op.Size(w.from))
		l.B.When(here, func() { l.B.Set(end, a.firstBelow(w.from+1, behind)) })
	}
	if w.first != nil && l.Spec.Strategy.Result.Places[l.ResultVars[w.from]] {
		w.scatterPositions(l)
	}
	a.zeroUntil(end)
	return l.Stmt(s.Producer, e.Filling(t.Name, w), false)
}

// copiesTo reports whether the statement s only copies the workspace t to level k of the result and
// the levels below.
func copiesTo(l *scope.Leaf, s cin.Stmt, t *cin.Access, k int) bool {
	for _, v := range l.ResultVars[k:] {
		f, ok := s.(*cin.Forall)
		if !ok || f.Var != v || f.Unit != cin.Serial && f.Unit != cin.GPUThread ||
			!slices.Contains(t.Vars, v) {
			return false
		}
		s = f.Body
	}
	set, ok := s.(*cin.Assign)
	if !ok || !l.Assigns(set) || set.Accumulate || len(t.Vars) != len(l.ResultVars)-k {
		return false
	}
	x, ok := set.RHS.(*cin.Access)
	return ok && x.Key() == t.Key()
}

// scatterPositions emits code that stores 1 plus the position of each coordinate in the current row
// in the array w.place. The index in the array is the coordinate minus w.base. With this array,
// sums find their position in the row without a search.
func (w *fixedSums) scatterPositions(l *scope.Leaf) {
	a := w.a
	b := l.Bounds[l.ResultVars[w.from]]
	w.base = b[0]
	w.place = emit.ScopeValue(l.B, w.name+", place", func() *ir.Array {
		place := l.B.Array(w.name+"_place", tree.IntOf(a.out.Op.Argument.PosWidth[w.from]))
		return l.B.AllocInScope(place, ir.Minus(b[1], b[0]), true)
	})
	_, crd := a.arrays(w.from)
	l.B.Loop(a.out.Op.Prefix()+"_p", w.first, w.end, func(o *ir.Var) {
		l.B.Store(w.place, ir.Minus(ir.Coord(crd, o), w.base), ir.Plus(o, ir.Int(1)))
	})
}

func (w *fixedSums) Add(t *cin.Access, x ir.Expr, e *scope.Env) {
	a, l := w.a, e.Leaf
	at := func(k int) ir.Expr { return e.Coord.At(l.ResultVars[k]) }
	p, k := w.e.Res.Pos, w.from
	if w.place != nil {
		behind := l.B.Named(w.name+"_at", ir.Coord(w.place, ir.Minus(at(k), w.base)))
		held := ir.Less(w.first, behind)
		if w.e.Res.Here != nil { // otherwise place may have entries of an earlier row
			held = ir.Both(w.e.Res.Here, held)
		}
		failUnless(held, e)
		p = ir.Minus(behind, ir.Int(1))
		k++
	}
	for ; k < a.out.Op.Order(); k++ {
		if !a.out.Op.Kind(k).HasPos() {
			if k == w.from && w.e.Res.Here != nil {
				failUnless(w.e.Res.Here, e)
			}
			p = l.B.Named(a.out.Op.Prefix()+"_p",
				ir.Plus(ir.Times(p, a.out.Op.Size(k)), ir.Minus(at(k), a.out.Op.Offset(k))))
			continue
		}
		pos, crd := a.arrays(k)
		lo, hi := w.first, w.end
		if k > w.from {
			lo, hi = l.B.Named(a.out.Op.Prefix()+"_row", ir.Coord(pos, p)),
				l.B.Named(a.out.Op.Prefix()+"_row_end", ir.Coord(pos, ir.Plus(p, ir.Int(1))))
		}
		p = l.B.Named(a.out.Op.Prefix()+"_p", &ir.Search{A: crd, Lo: lo, Hi: hi, Key: at(k)})
		failUnless(a.holds(k, p, hi, at(k)), e)
	}
	l.B.AddTo(a.out.Values, p, x)
}
