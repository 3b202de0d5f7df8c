package schedule

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// The rules of a GPU are checked after all commands have been applied, so commands may name the
// units in any order.

// countedRace refuses the loop f on a unit of a GPU if its iterations would race. The loop writes a
// result whose rows are first counted and then written.
func countedRace(s *state, f *cin.Forall, outer []*cin.Forall, race cin.Race) error {
	target := cin.Target(s.body)
	form := s.problem.Formats[target.Name]
	first := target.Vars[form.Order[0]]
	ofFirst := func(v string) bool { return slices.Equal(s.rootsOf(v), []string{first}) }
	switch {
	case race != cin.NoRaces && race != cin.IgnoreRaces:
		return s.refuse(2,
			"%s (its format is %s) is counted and written row by row; want NoRaces, on a loop "+
				"over its outermost variable, %s", target.Key(), form, first)
	case !ofFirst(f.Var) || slices.ContainsFunc(outer,
		func(o *cin.Forall) bool { return !ofFirst(o.Var) }):
		return s.refuse(0,
			"%s (its format is %s) is counted and written row by row; only loops over its "+
				"outermost variable, %s, can be parallel", target.Key(), form, first)
	}
	return nil
}

// decidesRaces reports whether t contains a loop on a unit of a GPU that says how concurrent
// additions to the result are made. If a loop around t has IgnoreRaces, it leaves the decision to
// that inner loop.
func decidesRaces(s *state, t cin.Stmt) bool {
	found := false
	cin.Walk(t, func(t cin.Stmt) {
		f, ok := t.(*cin.Forall)
		found = found || ok && f.Unit.OnGPU() && cin.SettlesRaces(f.Race) &&
			cin.Target(f).Name == cin.Target(s.body).Name
	})
	return found
}

// checkUnits checks the loops against the rules of a GPU.
func checkUnits(s *state) error {
	if !s.problem.GPU || s.first == nil {
		return nil
	}
	if f, why := cin.MisplacedUnit(s.body); f != nil {
		return refuseLoop(s, f, why)
	}
	return blocksOutermost(s)
}

// blocksOutermost refuses a loop around a loop on blocks, because each of its iterations would
// launch a grid. It refuses a nest without a loop on blocks, because a single thread would run it.
// It also refuses concurrent additions to complex numbers. The loops around the loops that a
// library runs are on the host, and are not checked.
func blocksOutermost(s *state) (err error) {
	target := cin.Target(s.body).Name
	ofHost := aroundLibraries(s)
	cin.Paths(s.body, func(loops []*cin.Forall, a *cin.Assign) {
		if err != nil || len(loops) == 0 {
			return
		}
		n := ofLibrary(s, loops)
		if k := slices.IndexFunc(loops[:len(loops)-n],
			func(f *cin.Forall) bool { return n > 0 && f.Unit.OnGPU() }); k >= 0 {
			err = refuseLoop(s, loops[k],
				"the host calls the library that runs the loops inside it, so this loop cannot run on a "+
					"GPU")
			return
		}
		for len(loops) > 0 && slices.Contains(ofHost, loops[0]) {
			loops = loops[1:]
		}
		k := slices.IndexFunc(loops, func(f *cin.Forall) bool { return f.Unit == cin.GPUBlock })
		switch {
		case n > 0 || len(loops) == 0:
		case k < 0:
			err = s.cmd.errorf(Refused,
				"%s: no loop around %[3]s runs on GPUBlock, so one thread of the GPU would "+
					"run the loop over %[2]s; add parallelize(%[2]s,GPUBlock,...)",
				s.cmd.Name, loops[0].Var, cin.String(a))
		case k > 0:
			err = refuseLoop(s, loops[k],
				"the loop over "+loops[0].Var+" is around it, so that each iteration would "+
					"launch a grid of blocks; the loop on GPUBlock must be outermost, as "+
					"reorder makes it")
		}
		for _, f := range loops {
			if err == nil && a.LHS.Name == target && f.Unit.OnGPU() && f.Race == cin.IgnoreRaces &&
				s.problem.Compute.IsComplex() && hasRaces(s, f, a.LHS) && decidesRaces(s, f.Body) {
				err = refuseLoop(s, f, "its iterations add to the same elements of "+a.LHS.Key()+
					", and a GPU cannot add complex numbers atomically")
			}
		}
	})
	return err
}

// ofLibrary returns how many of the innermost loops around an assignment a library runs.
func ofLibrary(s *state, loops []*cin.Forall) int {
	for _, o := range s.orders {
		list := o.Order.Vars()
		if n := len(list); o.Order.Choice == strategy.Substitute && n <= len(loops) &&
			!slices.ContainsFunc(loops[len(loops)-n:],
				func(f *cin.Forall) bool { return !slices.Contains(list, f.Var) }) {
			return n
		}
	}
	return 0
}

// aroundLibraries returns the loops that enclose the loops that libraries run.
func aroundLibraries(s *state) (list []*cin.Forall) {
	cin.Paths(s.body, func(loops []*cin.Forall, a *cin.Assign) {
		if n := ofLibrary(s, loops); n > 0 {
			list = append(list, loops[:len(loops)-n]...)
		}
	})
	return list
}

// refuseLoop returns a refusal that names the command that runs f on its unit.
func refuseLoop(s *state, f *cin.Forall, why string) error {
	at := s.cmd
	for _, c := range s.list {
		if c.Name == "parallelize" && c.Args[0].Text == f.Var {
			at = c
		}
	}
	return at.errorf(Refused, "%s: %s on %s: %s", at.Name, f.Var, f.Unit, why)
}
