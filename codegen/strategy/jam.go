package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Unroll-and-jam moves a loop over the result's dense last level into the loops inside it that sum.
// A tile of the row is then summed in registers while the inner loops run once, instead of once for
// each value of the row. Every value is summed in the same order, so only the width of the tile
// must be chosen.

// jam returns the variable of the loops that can be jammed and the width of their tiles. It returns
// Row{} if no loop can be jammed.
func (f *facts) jam() Row {
	k := len(f.vars) - 1
	if k < 0 || k <= f.deep || !f.canJam(f.stmt, nil) {
		return Row{}
	}
	v := f.vars[k]
	n := f.maxTrips(v)
	width := Widest(n)
	if width == 0 {
		return Row{}
	}
	return Row{Var: v, Width: width,
		Why: fmt.Sprintf(
			"loops over %s, of at most %d values, are around those that sum: %d of them run together", v, n,
			width)}
}

// canJam reports whether s contains a loop that can be moved into the loops inside it. loops lists
// the variables of the loops around s.
func (f *facts) canJam(s cin.Stmt, loops []string) bool {
	switch s := s.(type) {
	case *cin.Forall:
		inner := append(slices.Clone(loops), s.Var)
		return f.canJamHere(s, inner) || f.canJam(s.Body, inner)
	case *cin.Where:
		return f.canJam(s.Producer, loops) || f.canJam(s.Consumer, loops)
	case *cin.Seq:
		return slices.ContainsFunc(s.List, func(t cin.Stmt) bool { return f.canJam(t, loops) })
	}
	return false
}

// canJamHere reports whether l, the last of loops, can be moved into the loops inside it.
func (f *facts) canJamHere(l *cin.Forall, loops []string) bool {
	k := len(f.vars) - 1
	roots, walked := f.determined(loops)
	return walked && len(roots) > 0 && roots[len(roots)-1] == f.vars[k] &&
		l.Unit != cin.CPUThread && l.Unroll == 0 && f.assigns(l) && f.lastOfAll(l, f.vars[k]) &&
		!f.readsWholeRow(l, f.vars[k]) && sumsInside(l.Body) &&
		!slices.ContainsFunc(f.vars[:k], func(v string) bool { return !f.isKnown(v, loops) })
}

// sumsInside reports whether s is one or more serial loops around a sum.
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
