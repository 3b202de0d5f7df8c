package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// positionLoop returns the reason why the nest l is one loop over the positions of the operand that
// shares its pattern with the result, or "" if it is not. The nest must loop over the levels of
// that operand, down to the result's last compressed level, and nothing else may read coordinates
// of the levels above that level. Short fibers then have no loops of their own, and chunks for
// threads are cut at positions instead of rows.
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
		if !ok || g.Var != v || k > 0 && (g.Unit != cin.Serial || !share.caps(k).HasPos()) {
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

// list joins names with commas.
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
