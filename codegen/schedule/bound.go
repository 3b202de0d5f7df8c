package schedule

import (
	"slices"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// bound states where a variable's range starts or ends: bound(i, ib, N, TYPE). The leaf checks the
// bound at run time and then needs fewer guards. bound(i, i, N, MaxExact) states that the size of i
// is N, and compiles it in as a constant.
func bound(s *state) error {
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	kind, ok := provenance.BoundByName(s.cmd.Args[3].Text)
	if s.cmd.Args[1].Text == v {
		return exactly(s, v, kind)
	}
	b, err := s.fresh(1)
	if err != nil {
		return err
	}
	n, err := choice.Number(2, s.cmd.Args[2].Text, 0)
	if err != nil {
		return s.blame(err)
	}
	if !ok {
		return s.blame(choice.Wanted(3, s.cmd.Args[3].Text, bounds))
	}
	for _, r := range s.g.RootsOf(v) {
		if slices.Contains(s.problem.Parts, r) &&
			(kind == provenance.MaxExact || kind == provenance.MinExact) {
			return s.refuse(3,
				"got an exact bound of %[2]s, want MinConstraint or MaxConstraint: the range "+
					"of %[1]s is divided into blocks, across ranks or by --split", r, v)
		}
	}
	if err := s.mayReplace(0, v); err != nil {
		return err
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: b, Gallop: f.Gallop, Body: f.Body}
	})
	return s.relate(provenance.Relation{Kind: provenance.Bound, From: []string{v}, To: []string{b},
		N: n, Bound: kind})
}

// exactly makes the size of v a constant in the leaf: bound(v, v, N, MaxExact).
func exactly(s *state, v string, kind provenance.BoundKind) error {
	switch {
	case kind != provenance.MaxExact:
		return s.refuse(3,
			"got %s, want a new name as the second argument: only a variable with a MaxExact "+
				"bound can keep its name",
			s.cmd.Args[3].Text)
	case s.g.MadeBy(v) != nil:
		return s.refuse(0,
			"got %s, which is not a variable of the statement; want a variable, or a new name "+
				"for the bounded variable",
			v)
	}
	return choose(s)
}
