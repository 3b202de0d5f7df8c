package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// fuse makes one loop of two that are directly nested: fuse(i, j, f), f running
// over the pairs in the order of the nest.
func fuse(s *state) error {
	i, err := s.variable(0)
	if err != nil {
		return err
	}
	j, err := s.variable(1)
	if err != nil {
		return err
	}
	f, err := s.fresh(2)
	if err != nil {
		return err
	}
	for k, v := range []string{i, j} {
		if a := s.g.PositionsOf(v); a != "" {
			return s.refuse(k, "%s runs over positions of %s; fuse the coordinates first, and then take the positions with pos", v, a)
		}
		if err := s.noted(k, v); err != nil {
			return err
		}
	}
	inner := 0
	for _, l := range s.loops(i) {
		b, ok := l.Body.(*cin.Forall)
		if !ok || b.Var != j {
			return s.refuse(1, "the loop over %s is not directly inside the one over %s", j, i)
		}
		inner++
	}
	if inner != len(s.loops(j)) {
		return s.refuse(1, "%s has loops elsewhere than directly inside the one over %s", j, i)
	}
	s.replace(i, func(l *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: f, Body: l.Body.(*cin.Forall).Body}
	})
	return s.relate(provenance.Relation{Kind: provenance.Fuse, From: []string{i, j}, To: []string{f}})
}
