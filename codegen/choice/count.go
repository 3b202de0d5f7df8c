package choice

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Count is the choice to compile the size of variable i into the leaf as the constant N. Its
// command is bound(i,i,N,MaxExact). The range of i is then [0, N).
var Count = &Choice{
	Name: "bound",
	Params: []Param{{Kind: VarParam, Name: "i"}, {Kind: SameVar, Name: "i"},
		{Kind: NumberParam, Name: "N", Least: 1}, {Kind: WordParam, Words: []string{"MaxExact"}}},
	Minor:   true,
	Default: defaultCounts,
	Follow:  followCount,
}

func followCount(f *analysis.Facts, v *strategy.Value, o Order) error {
	x := o.Loop.Var
	switch {
	case !slices.Contains(f.Problem.Exact, x):
		return fmt.Errorf("the loop over %s must run over all coordinates, but blocks divide its range", x)
	case f.Problem.Sizes[x] != o.N:
		return fmt.Errorf("got %[3]d, want the number of coordinates of %[1]s: %[2]d",
			x, f.Problem.Sizes[x], o.N)
	}
	v.Trips[x] = o.N
	return nil
}

// These constants decide which trip counts become constants in the leaf by default. A trip count
// becomes a constant only if it is at least shortest and does not exceed a limit. The limit is
// longestSummed for a variable that is summed. It is longestKept for a variable of the result in a
// statement that sums, because the rows of the result then stay in registers. On a GPU the limit is
// longest.
//
// Up to these limits, a constant trip count was measured to save a tenth of the leaf's time. All
// other sizes are arguments, so that one leaf serves all sizes.
const (
	shortest      = 8
	longestKept   = 64
	longestSummed = 192
	longest       = 256
)

// longestTrip returns the largest trip count that is worth compiling into the code as a constant,
// for the loop over v. It returns 0 if no trip count is. sums is true if the statement sums over
// some variable.
func longestTrip(f *analysis.Facts, v string, sums bool) int64 {
	switch {
	case f.Problem.Target.GPU:
		return longest
	case !slices.Contains(f.Vars, v):
		return longestSummed
	case sums:
		return longestKept
	}
	return 0
}

// defaultCounts returns the instructions that make the sizes of some variables constants in the
// leaf. It considers the variables in Exact. Their loops must be short and must read consecutive
// memory. This means that all levels with the variable are dense, and at least one of these levels
// is the last level of its tensor.
func defaultCounts(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	summed := false
	cin.Accesses(f.Stmt, func(a *cin.Access) {
		summed = summed || slices.ContainsFunc(a.Vars,
			func(v string) bool { return !slices.Contains(f.Vars, v) })
	})
	short, last := map[string]bool{}, map[string]bool{}
	for _, v := range f.Problem.Exact {
		n := f.Problem.Sizes[v]
		short[v] = n >= shortest && n <= longestTrip(f, v, summed)
	}
	for _, x := range append(f.Operands(f.Stmt), &analysis.Operand{Tensor: f.Result, Vars: f.Vars}) {
		for l, v := range x.Vars {
			if !x.Tensor.Kind(l).CanLocate() {
				short[v] = false
			}
			last[v] = last[v] || l == len(x.Vars)-1
		}
	}
	for _, v := range slices.Sorted(maps.Keys(short)) {
		if n := f.Problem.Sizes[v]; short[v] && last[v] {
			out = append(out, Chosen{Order: Order{N: n}.of(v),
				Why: fmt.Sprintf(
					"%s has %d coordinates, and all levels that it indexes are dense", v, n)})
		}
	}
	return out
}
