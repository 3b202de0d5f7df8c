package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Unroll-and-jam moves a loop over the result's dense last level into the loops inside it that sum.
// A tile of the row is then summed in registers while the inner loops run once, instead of once for
// each value of the row. Every value is summed in the same order, so only the width of the tile
// must be chosen.

// Jam is the choice of unroll and jam: jam(k,N). The loop over k then runs N iterations together.
// The N iterations are moved into the loops that sum, which are inside the loop over k. k is the
// result's last variable, and its level is dense. If N is 1, the loops do not change.
var Jam = &Choice{
	Name:        "jam",
	Params:      []Param{{Kind: IndexParam, Name: "i"}, {Kind: NumberParam, Name: "N", Least: 1}},
	Meaning:     "moves N iterations at a time into inner loops",
	CPUOnly:     "rows are summed in registers of a CPU",
	Always:      defaultJam,
	Follow:      followJam,
	DecisionKey: func(*analysis.Facts, Order) string { return "" },
}

func followJam(f *analysis.Facts, v *strategy.Value, o Order) error {
	x := f.LoweredVar(o.Loop.Var)
	switch {
	case o.N > 2*maxTile:
		return fmt.Errorf(
			"got tiles of %d values, want at most %d (1 leaves the loop in its place)",
			o.N, 2*maxTile)
	case x != f.LastDense() || !canJam(f, f.Stmt, nil):
		return fmt.Errorf(
			"no loop over %s can be moved inside: it must be over the result's last level, "+
				"which must be dense in all tensors that have it, and directly around loops "+
				"that sum in order", o.Loop)
	}
	v.Jam = strategy.Row{}
	if o.N > 1 {
		v.Jam = strategy.Row{Var: x, Width: o.N}
	}
	return nil
}

// defaultJam returns the instruction for the loops that can be jammed.
func defaultJam(f *analysis.Facts, _ *strategy.Value) []Chosen {
	v := f.LastDense()
	if f.Problem.Target.GPU || v == "" || !canJam(f, f.Stmt, nil) {
		return nil
	}
	n := f.MaxTrips(v)
	width := Widest(n)
	if width == 0 {
		return nil
	}
	return []Chosen{{Order: Order{N: width}.of(v),
		Why: fmt.Sprintf(
			"%[3]d iterations of the loop over %[1]s, which has at most %[2]d and is outside "+
				"the loops that sum, run together", v, n,
			width)}}
}

// canJam reports whether s contains a loop to which unroll and jam can be applied: the iterations
// of the loop are moved into the loops inside it. loops lists the variables of the loops around s.
func canJam(f *analysis.Facts, s cin.Stmt, loops []string) bool {
	switch s := s.(type) {
	case *cin.Forall:
		inner := append(slices.Clone(loops), s.Var)
		return canJamHere(f, s, inner) || canJam(f, s.Body, inner)
	case *cin.Where:
		return canJam(f, s.Producer, loops) || canJam(f, s.Consumer, loops)
	case *cin.Seq:
		return slices.ContainsFunc(s.List, func(t cin.Stmt) bool { return canJam(f, t, loops) })
	}
	return false
}

// canJamHere reports whether unroll and jam can be applied to loop l: whether several iterations of
// l can be moved together into the loops inside l. loops lists the variables of the loops around l,
// outermost first, and then the variable of l.
func canJamHere(f *analysis.Facts, l *cin.Forall, loops []string) bool {
	k := len(f.Vars) - 1
	roots, walked := f.Determined(loops)
	return walked && len(roots) > 0 && roots[len(roots)-1] == f.Vars[k] &&
		l.Unit != cin.CPUThread && l.Unroll == 0 && f.Assigns(l) && isLastOfAll(f, l, f.Vars[k]) &&
		!readsWholeRow(f, l, f.Vars[k]) && sumsInside(l.Body) &&
		!slices.ContainsFunc(f.Vars[:k], func(v string) bool { return !f.IsKnown(v, loops) })
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
