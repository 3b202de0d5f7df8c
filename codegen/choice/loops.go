package choice

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// This file relates the loops of a schedule to the variables of the statement: loops over variables
// that commands made determine variables of the statement.

// component returns the provenance component of v if a relation of the schedule made or replaced v.
// Otherwise it returns nil. natural is true if the loops of the component are in natural order.
func (f *facts) component(v string) (c *provenance.Component, natural bool) {
	c = f.g.Component(v)
	return c, c != nil && cin.Natural(f.stmt, f.g, c)
}

// isKnown reports whether loops over the given variables determine v, a variable of the statement.
func (f *facts) isKnown(v string, loops []string) bool {
	if slices.Contains(loops, v) {
		return true
	}
	c, _ := f.component(v)
	return c != nil && f.g.MadeBy(v) == nil &&
		!slices.ContainsFunc(c.Leaves, func(x string) bool { return !slices.Contains(loops, x) })
}

// determined returns the variables of the statement whose values are known inside the last of the
// given loops but not outside it. They are listed outermost first. If walked is true, the last loop
// visits their coordinates in the same order as loops over the variables would. If walked is false,
// each coordinate is computed, and the operands are searched for this coordinate.
func (f *facts) determined(loops []string) (vars []string, walked bool) {
	v := loops[len(loops)-1]
	c, natural := f.component(v)
	switch {
	case c == nil || f.g.ReplacedBy(v) != nil:
		return []string{v}, true
	case f.isKnown(c.Roots[0], loops):
		return c.Roots, natural
	}
	return nil, natural
}

// loweredVar returns the name that the lowered code uses for the coordinates of the loop over v.
// Usually this is v. The exception is a variable v that a schedule derived, if the derived loops
// run in natural order and v is the innermost of their variables. The name is then the innermost
// variable of the statement that these loops visit.
func (f *facts) loweredVar(v string) string {
	if c, natural := f.component(v); c != nil && natural && v == c.Leaves[len(c.Leaves)-1] {
		return c.Roots[len(c.Roots)-1]
	}
	return v
}

// maxTrips returns the largest number of iterations that a loop over v, a variable of the
// statement, can have. This is the size of v. If the schedule splits v, the outer loops restrict
// the loop to tiles. The number is then the smallest length of these tiles.
func (f *facts) maxTrips(v string) int64 {
	n := f.problem.Sizes[v]
	c, _ := f.component(v)
	if c == nil {
		return n
	}
	x := c.Leaves[len(c.Leaves)-1]
	for r := f.g.MadeBy(x); r != nil; r = f.g.MadeBy(x) {
		if r.Kind == provenance.Split && x == r.To[1] {
			n = min(n, r.N)
		}
		x = r.From[0]
	}
	return n
}

// mostUnrolled is the largest trip count for which a loop is unrolled completely even if its actual
// trip count may be smaller.
const mostUnrolled = 64

// unrolled returns the number of copies of each short loop that a schedule unrolls completely. The
// keys are the variables of the statement that these loops determine.
func unrolled(f *facts) map[string]int64 {
	out := map[string]int64{}
	cin.Paths(f.stmt, func(path []*cin.Forall, _ *cin.Assign) {
		var loops []string
		for _, l := range path {
			loops = append(loops, l.Var)
			if l.Unroll != cin.AllIterations {
				continue
			}
			vars, _ := f.determined(loops)
			for _, v := range vars {
				if n := f.maxTrips(v); n <= mostUnrolled {
					out[v] = n
				}
			}
		}
	})
	return out
}
