package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// mergeby says how a loop finds the coordinates that several operands have in
// common: mergeby(i, TwoFinger) goes through all of them, mergeby(i, Gallop)
// searches each for the largest coordinate that another stands at. mergeby(i, Predicated)
// has a union's sum of floats computed without branches: all terms are, and predicates
// choose which are added.
func mergeby(s *state) error {
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	how := s.cmd.Args[1].Text
	if how != "TwoFinger" && how != "Gallop" && how != "Predicated" {
		return s.cmd.Args[1].errorf(BadCommand, "mergeby: got %s, want TwoFinger, Gallop or Predicated", how)
	}
	if how == "Predicated" {
		return s.order(strategy.Predicate{Var: v})
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		g := *f
		g.Gallop = how == "Gallop"
		return &g
	})
	return nil
}
