package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Trip counts from shortest on are compiled into the leaf where that was measured to save a tenth
// of its time: up to longestSummed those of variables that are summed, up to longestKept those of
// the result's variables in a statement that sums, whose rows stay in registers. At them the C
// compiler unrolls, and needs no code for the rest of a row. All other sizes are arguments, so that
// one leaf serves all of them. For a GPU trip counts are compiled in up to longest.
const (
	shortest      = 8
	longestKept   = 64
	longestSummed = 192
	longest       = 256
)

// longestTrip returns the largest trip count of v that pays to be compiled in; sums says that the
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

// trips is which of the variables that Exact allows have their size
// compiled in: those of short dense loops that stream memory, as they index nothing but
// dense levels, and a last one somewhere.
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
			if !t.caps(l).Locate {
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
