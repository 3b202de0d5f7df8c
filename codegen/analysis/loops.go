package analysis

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// Component returns the provenance component of v. It returns nil if no relation of the schedule
// made or replaced v. natural is true if there is a component and its loops are in natural order
// (see cin.Natural).
func (f *Facts) Component(v string) (c *provenance.Component, natural bool) {
	c = f.Graph.Component(v)
	return c, c != nil && cin.Natural(f.Stmt, f.Graph, c)
}

// IsKnown reports whether loops over the given variables determine v, a variable of the statement.
func (f *Facts) IsKnown(v string, loops []string) bool {
	if slices.Contains(loops, v) {
		return true
	}
	c, _ := f.Component(v)
	return c != nil && f.Graph.MadeBy(v) == nil &&
		!slices.ContainsFunc(c.Leaves, func(x string) bool { return !slices.Contains(loops, x) })
}

// Determined returns the variables of the statement whose values become known in the last of the
// given loops, outermost first. They are not known outside this loop. If walked is true, the loop
// visits their coordinates in the same order as loops over the variables would. If walked is false,
// each coordinate is computed, and the operands are searched for it.
func (f *Facts) Determined(loops []string) (vars []string, walked bool) {
	v := loops[len(loops)-1]
	c, natural := f.Component(v)
	switch {
	case c == nil || f.Graph.ReplacedBy(v) != nil:
		return []string{v}, true
	case f.IsKnown(c.Roots[0], loops):
		return c.Roots, natural
	}
	return nil, natural
}

// LoweredVar returns the name that the lowered code uses for the coordinates of the loop over v.
// Usually the name is v. It is another variable if v is the innermost of the variables that the
// schedule derived together, and their loops run in natural order. The name is then the innermost
// of the original variables that these loops visit.
func (f *Facts) LoweredVar(v string) string {
	if c, natural := f.Component(v); c != nil && natural && v == c.Leaves[len(c.Leaves)-1] {
		return c.Roots[len(c.Roots)-1]
	}
	return v
}

// MaxTrips returns the largest number of iterations that a loop over v, a variable of the
// statement, can have. Without a schedule, this is the size of v. If the schedule splits v, the
// innermost loop visits only one tile at a time. The number is then at most the smallest length of
// these tiles.
func (f *Facts) MaxTrips(v string) int64 {
	n := f.Problem.Sizes[v]
	c, _ := f.Component(v)
	if c == nil {
		return n
	}
	x := c.Leaves[len(c.Leaves)-1]
	for r := f.Graph.MadeBy(x); r != nil; r = f.Graph.MadeBy(x) {
		if r.Kind == provenance.Split && x == r.To[1] {
			n = min(n, r.N)
		}
		x = r.From[0]
	}
	return n
}

// MostPositions returns the largest number of positions that a loop over v runs over. ok is false
// if the relations that made v do not bound this number.
func (f *Facts) MostPositions(v string) (n int64, ok bool) {
	r := f.Graph.MadeBy(v)
	if r == nil {
		return 0, false
	}
	n, ok = f.MostPositions(r.From[0])
	switch {
	case r.Kind == provenance.Split && v == r.To[1]:
		if ok {
			return min(n, r.N), true
		}
		return r.N, true
	case r.Kind == provenance.Divide && v == r.To[1]:
		return (n + r.N - 1) / r.N, ok
	case r.Kind == provenance.Bound && r.Bound == provenance.MaxExact:
		return r.N, true
	}
	return n, ok && r.Kind == provenance.Bound
}

// Underived returns the original variables that a schedule derives the given variables from.
func (f *Facts) Underived(vars []string) []string {
	var out []string
	for _, v := range vars {
		out = append(out, f.Graph.Underived(v)...)
	}
	return out
}

// IsDerived reports whether v is a loop variable that the schedule derived from variables of the
// statement, for example by split. One run of a loop over v may then visit only some of the
// coordinates of the original variables.
func (f *Facts) IsDerived(v string) bool {
	c, _ := f.Component(v)
	return c != nil && f.Graph.ReplacedBy(v) == nil
}
