package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// mergeby says how a loop finds the coordinates that several operands have in common: mergeby(i,
// TwoFinger) goes through all of them, mergeby(i, Gallop) searches each for the largest coordinate
// that another stands at. mergeby(i, Predicated) has a union's sum of floats computed without
// branches: all terms are, and predicates choose which are added. mergeby(i, Windows) has those
// that a result appends made in windows, whose coordinates are sorted. mergeby(i, OneBody) has one
// body for all cases of what is present.
func mergeby(s *state) error {
	how := s.cmd.Args[1].Text
	named := s.variable
	if how == "Predicated" || how == "Windows" || how == "OneBody" {
		named = s.indexed
	}
	v, err := named(0)
	if err != nil {
		return err
	}
	switch how {
	case "TwoFinger", "Gallop":
	case "Predicated":
		return s.order(strategy.Predicate{Var: v})
	case "Windows":
		return s.order(strategy.MergeWindows{Var: v})
	case "OneBody":
		return s.order(strategy.Unite{Var: v})
	default:
		return s.cmd.Args[1].errorf(BadCommand,
			"mergeby: got %s, want TwoFinger, Gallop, Predicated, Windows or OneBody", how)
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		g := *f
		g.Gallop = how == "Gallop"
		return &g
	})
	return nil
}
