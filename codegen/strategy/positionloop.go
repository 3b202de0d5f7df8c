package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// positionLoop tells whether a nest of loops is one over the positions of the operand that the
// result shares its pattern with: it loops over the levels of that operand, down to the
// result's last compressed one, and nothing else reads coordinates of the levels above
// that. Short fibers then cost no loop of their own, and chunks for threads are cut at
// positions, not at rows. It returns the reason, "" where it is not so.
func (f *facts) positionLoop(l *cin.Forall) string {
	if !f.shared() || f.deep == 0 {
		return ""
	}
	above := f.vars[:f.deep]
	s := cin.Stmt(l)
	var share *Tensor
	cin.Accesses(l, func(a *cin.Access) {
		if a.Key() == f.problem.Share {
			share = f.tensor(a.Name)
		}
	})
	if share == nil {
		return ""
	}
	for k, v := range f.vars[:f.deep+1] {
		g, ok := s.(*cin.Forall)
		if !ok || g.Var != v || k > 0 && (g.Unit != cin.Serial || !share.caps(k).HasPos) {
			return ""
		}
		s = g.Body
	}
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		vars := a.Vars
		if a.Key() == f.problem.Share {
			vars = share.levels(a)[f.deep+1:]
		}
		ok = ok && !slices.ContainsFunc(vars, func(v string) bool { return slices.Contains(above, v) })
	})
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s has the pattern of %s, and nothing else reads %s", f.result.Name,
		f.problem.Share, list(above))
}

// list is names, separated by commas.
func list(names []string) string {
	out := ""
	for k, v := range names {
		if k > 0 {
			out += ", "
		}
		out += v
	}
	return out
}
