package schedule

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// fuse replaces two directly nested loops with one: fuse(i, j, f). The variable f runs over the
// pairs of i and j in the order of the nest.
//
// If the result has random access, the body of the loop over i may have other terms besides the
// loop over j. Before the fusion, these terms get loops of their own (fission.go).
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
			return s.refuse(k,
				"%s runs over the positions of %s; fuse the coordinates first, and use pos on "+
					"the fused variable", v, a)
		}
		if err := s.mayReplace(k, v); err != nil {
			return err
		}
		if slices.ContainsFunc(cin.Loops(s.body, v), func(f *cin.Forall) bool { return f.Gallop }) {
			return s.refuse(k,
				"the loop over %s already has a mergeby; it must come after fuse, and name "+
					"the fused variable", v)
		}
	}
	var pairs []*cin.Forall
	for _, l := range cin.Loops(s.body, i) {
		if b, ok := l.Body.(*cin.Forall); ok && b.Var == j {
			pairs = append(pairs, l)
		}
	}
	pairs = append(pairs, fission(s, i, j)...)
	// Loops over original variables elsewhere in the statement stay unchanged.
	switch {
	case len(pairs) == 0:
		return s.refuse(1, "the loop over %s must be directly inside the loop over %s%s", j, i,
			between(s, cin.Loops(s.body, i)[0], j))
	case len(pairs) < len(cin.Loops(s.body, i)) && s.g.MadeBy(i) != nil:
		return s.refuse(0, "all loops over %s must be directly around a loop over %s", i, j)
	case len(pairs) < len(cin.Loops(s.body, j)) && s.g.MadeBy(j) != nil:
		return s.refuse(1, "all loops over %s must be directly inside a loop over %s", j, i)
	}
	s.replace(i, func(l *cin.Forall) cin.Stmt {
		if !slices.Contains(pairs, l) {
			return l
		}
		return &cin.Forall{Var: f, Body: l.Body.(*cin.Forall).Body}
	})
	return s.relate(provenance.Relation{Kind: provenance.Fuse, From: []string{i, j}, To: []string{f}})
}

// between explains which statement keeps the loop over j from being directly inside f, and what the
// user can do about it. It returns "" if the loop is not inside f or only loops are between them.
func between(s *state, f *cin.Forall, j string) string {
	chain, rest := nested(f)
	containsAccess := false
	cin.Walk(f, func(t cin.Stmt) {
		g, ok := t.(*cin.Forall)
		containsAccess = containsAccess || ok && g.Var == j
	})
	if !containsAccess {
		return ""
	}
	v := chain[len(chain)-1].Var
	switch t := rest.(type) {
	case *cin.Where:
		w, into := cin.Target(t.Producer), cin.Target(s.body)
		if form, ok := s.problem.Formats[into.Name]; ok && !form.AllDense() && len(w.Vars) > 0 {
			return fmt.Sprintf(
				": between them, a workspace %[2]s is filled for each %[1]s, because %[3]s "+
					"(its format is %[4]s) takes entries in order; a dense %[5]s needs no "+
					"workspace; otherwise split the loop over %[1]s and run its parts in "+
					"parallel", v, w.Key(), into.Key(), form, into.Name)
		}
		return fmt.Sprintf(": for each %s, %s is computed and used between them", v, w.Key())
	case *cin.Seq:
		into := cin.Target(t)
		if form, ok := s.problem.Formats[into.Name]; ok && !form.AllDense() {
			return fmt.Sprintf(
				": other terms are computed between them, and the entries of %s (its format "+
					"is %s) must be added in order; a dense %s takes entries in any order",
				into.Key(), form, into.Name)
		}
		return ": other terms are computed between them; they can be separated only if the " +
			"loop over " + v + " and the loops over its tiles are directly nested"
	}
	return ""
}
