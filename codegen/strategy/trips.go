package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// Trip counts from shortest to longest are compiled into the leaf: at them the C
// compiler unrolls and keeps rows in registers. Shorter ones gain nothing, and
// each would be a leaf of its own.
const (
	shortest = 8
	longest  = 256
)

// trips is which of the variables that Exact allows have their size
// compiled in: those of short dense loops that stream memory, as they index nothing but
// dense levels, and a last one somewhere.
func (f *facts) trips() map[string]Trip {
	out := map[string]Trip{}
	for _, v := range f.Exact {
		if n := f.Sizes[v]; n >= shortest && n <= longest {
			out[v] = Trip{N: n, Why: fmt.Sprintf("%s has %d coordinates, and all that it indexes is dense", v, n)}
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
