package strategy

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// What the loops of a schedule are over: loops over variables that commands made determine
// variables of the statement.

// component is that of v where a schedule splits, fuses or bounds it, or takes its
// positions; nil elsewhere. natural says that its loops come in natural order.
func (f *facts) component(v string) (c *provenance.Component, natural bool) {
	for _, r := range f.g.Relations() {
		if r.Kind != provenance.Precompute && (slices.Contains(r.From, v) || slices.Contains(r.To, v)) {
			c = f.g.Component(v)
			return c, cin.Natural(f.stmt, f.g, c)
		}
	}
	return nil, false
}

// known tells whether loops over some variables determine v, a variable of the statement.
func (f *facts) known(v string, loops []string) bool {
	if slices.Contains(loops, v) {
		return true
	}
	c, _ := f.component(v)
	return c != nil && f.g.MadeBy(v) == nil &&
		!slices.ContainsFunc(c.Leaves, func(x string) bool { return !slices.Contains(loops, x) })
}

// determined are the variables of the statement that the last of some loops determines,
// outermost first. walked tells whether it steps through their coordinates as a loop over
// them does: out of natural order they are computed, and operands looked up there.
func (f *facts) determined(loops []string) (vars []string, walked bool) {
	v := loops[len(loops)-1]
	c, natural := f.component(v)
	switch {
	case c == nil || f.g.ReplacedBy(v) != nil:
		return []string{v}, true
	case f.known(c.Roots[0], loops):
		return c.Roots, natural
	}
	return nil, natural
}

// standing is the variable by which lowering knows the loops over v: that of the statement
// which they determine, the innermost of several; v itself where they determine none, or
// compute it.
func (f *facts) standing(v string) string {
	if c, natural := f.component(v); c != nil && natural && v == c.Leaves[len(c.Leaves)-1] {
		return c.Roots[len(c.Roots)-1]
	}
	return v
}

// most is how many coordinates a loop over a variable of the statement has at most: its size,
// or what the splits that it is inside of leave of it.
func (f *facts) most(v string) int64 {
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

// mostUnrolled is the number of iterations that a loop has at most for all of them to be
// unrolled where it may have fewer.
const mostUnrolled = 64

// unrolled is how many copies loops have that a schedule unrolls completely, by the variable
// of the statement that they are over, where they are short.
func (f *facts) unrolled() map[string]int64 {
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
				if n := f.most(v); n <= mostUnrolled {
					out[v] = n
				}
			}
		}
	})
	return out
}
