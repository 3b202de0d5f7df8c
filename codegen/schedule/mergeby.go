package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// mergeby chooses how a loop finds the coordinates that several operands have in common.
//
//	mergeby(i, TwoFinger)  visits all coordinates of each operand
//	mergeby(i, Gallop)     searches each operand for the largest coordinate that another one is at
//
// Loops that later replace the loop over i inherit Gallop. All other forms of the command are
// instructions to the strategy.
func mergeby(s *state) error {
	how := s.cmd.Args[1].Text
	switch how {
	case strategy.Predicated, strategy.Windows, strategy.OneBody:
		return s.choose(strategy.MergeBy)
	}
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	switch how {
	case "TwoFinger":
	case "Gallop":
		s.gallops = append(s.gallops, s.cmd)
	default:
		return s.wanted(1, strategy.MergeBy.Params[1].Words)
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		g := *f
		g.Gallop = how == "Gallop"
		return &g
	})
	return nil
}

// checkGallop refuses Gallop for a loop that cannot search. It is called after all commands. A loop
// cannot search if it visits coordinates that only one operand has, or if it computes its
// coordinates.
func checkGallop(s *state) error {
	var err error
	cin.Walk(s.body, func(t cin.Stmt) {
		f, ok := t.(*cin.Forall)
		if !ok || !f.Gallop || err != nil {
			return
		}
		if why := cannotSearch(s, f); why != "" {
			s.cmd = s.gallops[len(s.gallops)-1]
			for _, c := range s.gallops {
				if slices.Contains(s.rootsOf(f.Var), s.g.Underived(c.Args[0].Text)[0]) {
					s.cmd = c
				}
			}
			err = s.refuse(1,
				"got Gallop, which searches for coordinates common to all operands, but %s", why)
		}
	})
	return err
}

// cannotSearch returns why the loop f cannot search for coordinates that operands have in common,
// or "" if it can.
func cannotSearch(s *state, f *cin.Forall) string {
	outer, _ := s.around(f)
	if c := s.component(f.Var); c != nil &&
		(!cin.Natural(s.body, s.g, c) || s.g.ConsumerVar(f.Var) != c.Leaves[len(c.Leaves)-1]) {
		return "the loop over " + f.Var + " computes each coordinate and looks it up in every " +
			"operand"
	}
	for k, v := range s.rootsOf(f.Var) {
		inside := slices.Clone(outer)
		for _, u := range s.rootsOf(f.Var)[:k] {
			inside = append(inside, &cin.Forall{Var: u})
		}
		lat := s.lattice(v, f.Body, inside)
		if len(lat.Points) > 1 || len(lat.Iters) > 0 && lat.Universe() {
			return "the loop over " + f.Var + " also visits coordinates that not all of " + strings.Join(
				lat.Iters, ", ") + " have; use TwoFinger"
		}
		for _, key := range lat.Iters {
			if why := unordered(s, key, v); why != "" && len(lat.Iters) > 1 {
				return key + " " + why
			}
		}
	}
	return ""
}

// unordered returns why the level of v cannot be searched in the access with the given key, or ""
// if it can.
func unordered(s *state, key, v string) (why string) {
	cin.Accesses(s.body, func(a *cin.Access) {
		if a.Key() != key || !s.tensor(a.Name) {
			return
		}
		f := s.formatOf(a)
		for l, mode := range f.Order {
			switch caps := f.Levels[l]; {
			case a.Vars[mode] != v:
			case caps.IsPadded():
				why = "is padded there (its format is " + f.String() + ")"
			case !caps.IsUnique() && (l == len(f.Levels)-1 || f.Levels[l+1].IsSingle()):
				why = "keeps repeated coordinates there (its format is " + f.String() + ")"
			}
		}
	})
	return why
}
