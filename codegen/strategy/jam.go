package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Unroll-and-jam. A loop over the result's last level, a dense one, around loops that sum is
// moved into these: a tile of the row is summed in registers while the loops inside run once,
// instead of once for each of its values. Every value is summed in the same order, so that
// only the width of the tile is to be chosen.

// jam is the variable of such loops, with the width of tiles; none where there are none.
func (f *facts) jam() Row {
	k := len(f.vars) - 1
	if k < 0 || k <= f.deep || !f.jams(f.stmt, nil) {
		return Row{}
	}
	v := f.vars[k]
	n := f.most(v)
	width := Widest(n)
	if width == 0 {
		return Row{}
	}
	return Row{Var: v, Width: width,
		Why: fmt.Sprintf(
			"loops over %s, of at most %d values, are around those that sum: %d of them run together", v, n,
			width)}
}

// jams tells whether s, inside loops over some variables, has a loop that can be moved into
// those inside it.
func (f *facts) jams(s cin.Stmt, loops []string) bool {
	switch s := s.(type) {
	case *cin.Forall:
		inner := append(slices.Clone(loops), s.Var)
		return f.jamsHere(s, inner) || f.jams(s.Body, inner)
	case *cin.Where:
		return f.jams(s.Producer, loops) || f.jams(s.Consumer, loops)
	case *cin.Seq:
		return slices.ContainsFunc(s.List, func(t cin.Stmt) bool { return f.jams(t, loops) })
	}
	return false
}

// jamsHere tells whether l, the last of loops, is such a one.
func (f *facts) jamsHere(l *cin.Forall, loops []string) bool {
	k := len(f.vars) - 1
	roots, walked := f.determined(loops)
	return walked && len(roots) > 0 && roots[len(roots)-1] == f.vars[k] &&
		l.Unit != cin.CPUThread && l.Unroll == 0 && f.assigns(l) && f.lastOfAll(l, f.vars[k]) &&
		!f.gathered(l, f.vars[k]) && sumsInside(l.Body) &&
		!slices.ContainsFunc(f.vars[:k], func(v string) bool { return !f.known(v, loops) })
}

// sumsInside tells whether s is loops in order, one at least, around a sum.
func sumsInside(s cin.Stmt) bool {
	l, ok := s.(*cin.Forall)
	for ok {
		if l.Unit != cin.Serial || l.Unroll != 0 {
			return false
		}
		if a, sum := l.Body.(*cin.Assign); sum {
			return a.Accumulate
		}
		l, ok = l.Body.(*cin.Forall)
	}
	return false
}
