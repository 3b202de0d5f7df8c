package nest

import (
	"slices"

	"distaff/codegen/cin"
)

// perfect returns the variables of a perfect nest of loops, outermost first. In a perfect nest the
// loops are directly nested, and the innermost statement assigns or adds the sum of all terms to
// the result. Such a nest is made if there is a schedule, because a schedule can reorder, fuse and
// split its loops most freely.
//
// perfect returns nil if there is no schedule, if a term needs temporaries, or if no perfect nest
// is possible. All terms must sum over the same variables. If the result has compressed levels, the
// result's variables must come before the summed variables in the order of the loops.
func (n *Nest) perfect() []string {
	if !n.plain {
		return nil
	}
	t := n.target
	sums := n.terms[0].sums
	for k := range n.in.Order {
		if n.loopGroups(n.terms, k) != nil {
			return nil
		}
	}
	for _, x := range n.terms {
		same := len(x.sums) == len(sums) &&
			!slices.ContainsFunc(x.sums, func(v string) bool { return !slices.Contains(sums, v) })
		if len(x.pending) > 0 || len(x.parts) > 0 || !same {
			return nil
		}
	}
	ordered := t.ordered
	vars := []string{}
	for _, v := range n.in.Order {
		summed := slices.Contains(sums, v)
		if !summed && !slices.Contains(t.lhs.Vars, v) {
			continue
		}
		if len(ordered) > 0 {
			if v != ordered[0] {
				return nil
			}
			ordered = ordered[1:]
		} else if !summed && !n.in.Result.AllDense() &&
			slices.ContainsFunc(vars, func(u string) bool { return slices.Contains(sums, u) }) {
			return nil
		}
		vars = append(vars, v)
	}
	return vars
}

// perfectNest returns the perfect nest of loops over vars.
func (n *Nest) perfectNest(vars []string) cin.Stmt {
	return cin.Nest(vars, &cin.Assign{LHS: n.target.lhs, Accumulate: len(n.terms[0].sums) > 0,
		RHS: n.sumOf(n.terms)})
}
