package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Trip counts from shortest on are compiled into the leaf if this was measured to save a tenth of
// its time. The limit is longestSummed for variables that are summed. It is longestKept for the
// result's variables in a statement that sums, because its rows stay in registers. With a constant
// trip count the C compiler unrolls the loop and needs no code for the rest of a row. All other
// sizes are arguments, so that one leaf serves all sizes. On a GPU the limit is longest.
const (
	shortest      = 8
	longestKept   = 64
	longestSummed = 192
	longest       = 256
)

// longestTrip returns the largest trip count of v that is worth compiling in. sums is true if the
// statement sums over some variable.
func (f *facts) longestTrip(v string, sums bool) int64 {
	switch {
	case f.problem.Target.GPU:
		return longest
	case !slices.Contains(f.vars, v):
		return longestSummed
	case sums:
		return longestKept
	}
	return 0
}

// trips returns the variables among Exact whose size is compiled in. They have short dense loops
// that stream memory: they index only dense levels, and at least one last level.
func (f *facts) trips() map[string]Trip {
	summed := false
	cin.Accesses(f.stmt, func(a *cin.Access) {
		summed = summed || slices.ContainsFunc(a.Vars,
			func(v string) bool { return !slices.Contains(f.vars, v) })
	})
	out := map[string]Trip{}
	for _, v := range f.problem.Exact {
		if n := f.problem.Sizes[v]; n >= shortest && n <= f.longestTrip(v, summed) {
			out[v] = Trip{N: n, Why: fmt.Sprintf("%s has %d coordinates, and all that it indexes is dense",
				v, n)}
		}
	}
	last := map[string]bool{}
	look := func(t *Tensor, vars []string) {
		for l, v := range vars {
			if !t.caps(l).CanLocate() {
				delete(out, v)
			}
			last[v] = last[v] || l == len(vars)-1
		}
	}
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if t := f.tensor(a.Name); t != nil {
			look(t, t.levels(a))
		}
	})
	look(f.result, f.vars)
	for v := range out {
		if !last[v] {
			delete(out, v)
		}
	}
	return out
}
