package schedule

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/cin"
)

// parallelize runs the iterations of a loop on threads or in vector lanes: parallelize(i, UNIT,
// STRATEGY[, CHUNK]).
func parallelize(s *state) error {
	if isRowCommand(s) {
		return rowLanes(s)
	}
	if len(s.cmd.Args) > 3 {
		if _, err := strconv.Atoi(s.cmd.Args[3].Text); err != nil {
			return chunked(s)
		}
	}
	if len(s.cmd.Args) > 4 {
		return s.cmd.Args[4].errorf(BadCommand,
			"parallelize: got a second number; Work, Ordered, Rows or Whole must be before it")
	}
	v, err := s.looped(0)
	if err != nil {
		return err
	}
	unit, err := unitArgument(s, 1)
	if err != nil {
		return err
	}
	race, ok := cin.RaceByName(s.cmd.Args[2].Text)
	if !ok {
		return s.wanted(2, races)
	}
	chunk := int64(0)
	if len(s.cmd.Args) == 4 {
		if chunk, err = s.factor(3); err != nil {
			return err
		}
		if unit == cin.CPUVector || unit.OnGPU() {
			return s.refuse(3,
				"got a chunk size for %s, want none: only CPUThread has chunks", unit)
		}
	}
	return runOn(s, v, unit, race, chunk)
}

// runOn makes the loops over v run on a unit.
func runOn(s *state, v string, unit cin.Unit, race cin.Race, chunk int64) error {
	for _, f := range s.loops(v) {
		if f.Unit != cin.Serial {
			return s.refuse(0, "the loop over %s is already parallel", v)
		}
		if unit == cin.Serial {
			continue
		}
		if f.Unroll != 0 {
			return s.refuse(0,
				"the loop over %s is unrolled, so it cannot be parallel; parallelize a loop "+
					"inside or around it", v)
		}
		if err := mayRun(s, f, unit, race); err != nil {
			return err
		}
	}
	if unit == cin.Serial {
		return nil
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		g := *f
		g.Unit, g.Race, g.Chunk = unit, race, chunk
		return &g
	})
	return nil
}

// unitArgument parses argument k as the unit that runs the iterations of a loop. It refuses a unit
// that the target machine does not have.
func unitArgument(s *state, k int) (cin.Unit, error) {
	name := s.cmd.Args[k].Text
	unit, ok := cin.UnitByName(name)
	switch {
	case !ok:
		return 0, s.wanted(k, units)
	case unit.OnGPU() && !s.problem.GPU:
		return 0,
			s.refuse(k,
				"%s is a unit of a GPU, but this leaf is compiled for a CPU; want "+
					"--target=cuda or a unit of a CPU", name)
	case unit != cin.Serial && !unit.OnGPU() && s.problem.GPU:
		return 0,
			s.refuse(k,
				"%s is a unit of a CPU, but --target=cuda compiles for a GPU; want GPUBlock, "+
					"GPUWarp or GPUThread", name)
	}
	return unit, nil
}

// mayRun refuses to run the loop f on a unit if this could give a wrong result.
func mayRun(s *state, f *cin.Forall, unit cin.Unit, race cin.Race) error {
	outer, wheres := s.around(f)
	for _, o := range outer {
		if o.Unit == cin.CPUVector {
			return s.refuse(0,
				"the loop over %s, around it, runs in vector lanes, so no loop inside it can "+
					"be parallel", o.Var)
		}
	}
	if unit == cin.CPUVector {
		if err := checkLanes(s, f); err != nil {
			return err
		}
	}
	if err := oneLoop(s, f, outer); err != nil {
		return err
	}
	target := cin.Target(f.Body)
	_, isTensor := s.problem.Formats[target.Name]
	for _, t := range wheres {
		if t.Name != target.Name && len(t.Vars) > 0 {
			return s.refuse(0,
				"%s is computed between the loop over %s and an outer loop; want the parallel "+
					"loop outside it", t.Key(),
				f.Var)
		}
	}
	if !isTensor {
		return temporaryRace(s, f, target, unit, race)
	}
	races := hasRaces(s, f, target)
	switch {
	case s.isAppended():
		return appendedRace(s, f, outer, unit, race)
	case unit.OnGPU() && races && !allKnown(s, target, outer) &&
		(race == cin.Temporary || race == cin.ParallelReduction):
		return s.refuse(2,
			"iterations of %s add to many elements of %s, of which a GPU's threads have no "+
				"copies; use Atomics", f.Var, target.Key())
	case unit == cin.GPUBlock && races && (race == cin.Temporary || race == cin.ParallelReduction):
		return s.refuse(2,
			"iterations of %s add to %s, and blocks of a GPU cannot share a sum; use Atomics",
			f.Var,
			target.Key())
	case races && race == cin.NoRaces:
		return s.refuse(2,
			"iterations of %s add to the same elements of %s; use Atomics, Temporary or "+
				"ParallelReduction", f.Var, target.Key())
	case races && s.problem.Shared && race != cin.Atomics && race != cin.IgnoreRaces &&
		!allKnown(s, target, outer):
		return s.refuse(2,
			"iterations of %s add to the same elements of %s, which has compressed levels "+
				"(its format is %s); use Atomics",
			f.Var, target.Key(), s.problem.Formats[target.Name])
	case races && race == cin.Atomics && s.problem.Compute.IsComplex():
		return s.refuse(2,
			"got Atomics, but complex numbers cannot be added atomically; use Temporary")
	case races && race == cin.Atomics && unit == cin.CPUVector:
		return s.refuse(2,
			"got Atomics, but vector lanes cannot add atomically; use ParallelReduction if "+
				"all iterations add to one value")
	case races && race == cin.ParallelReduction && !allKnown(s, target, outer):
		return s.refuse(2,
			"iterations of %s add to many elements of %s, but ParallelReduction is only for "+
				"one; use Temporary or Atomics", f.Var, target.Key())
	case races && race == cin.Temporary && unit == cin.CPUVector && !allKnown(s, target, outer):
		return s.refuse(2,
			"vector lanes have no copies of %s; use ParallelReduction if all iterations add "+
				"to one value", target.Key())
	}
	return nil
}

// checkLanes refuses a loop in vector lanes if its body has a parallel loop or a workspace.
func checkLanes(s *state, f *cin.Forall) (err error) {
	cin.Walk(f.Body, func(t cin.Stmt) {
		switch t := t.(type) {
		case *cin.Forall:
			if t.Unit != cin.Serial {
				err = s.refuse(0,
					"the loop over %s cannot run in vector lanes, because a loop inside it is "+
						"parallel", f.Var)
			}
		case *cin.Where:
			if w := cin.Target(t.Producer); len(w.Vars) > 0 {
				err = s.refuse(1,
					"each iteration of %s fills the workspace %s, which vector lanes would "+
						"share; use CPUThread, where each thread has its own", f.Var, w.Key())
			}
		}
	})
	return err
}

// around returns the loops around f, outermost first, and the temporaries whose producers contain
// f.
func (s *state) around(f *cin.Forall) (outer []*cin.Forall, temps []*cin.Access) {
	var find func(t cin.Stmt, loops []*cin.Forall, in []*cin.Access) bool
	find = func(t cin.Stmt, loops []*cin.Forall, in []*cin.Access) bool {
		switch t := t.(type) {
		case *cin.Forall:
			if t == f {
				outer, temps = loops, in
				return true
			}
			return find(t.Body, append(slices.Clone(loops), t), in)
		case *cin.Where:
			return find(t.Consumer, loops, in) ||
				find(t.Producer, loops, append(slices.Clone(in), cin.Target(t.Producer)))
		case *cin.Seq:
			return slices.ContainsFunc(t.List, func(u cin.Stmt) bool { return find(u, loops, in) })
		}
		return false
	}
	find(s.body, nil, nil)
	return outer, temps
}

// hasRaces reports whether two iterations of f may write to the same place of the target. They
// cannot if all original variables of the loop are variables of the target, because then different
// iterations write different places.
func hasRaces(s *state, f *cin.Forall, target *cin.Access) bool {
	v := s.g.ConsumerVar(f.Var)
	if u := s.g.TileOf(s.g.Underived(v)[0]); u != "" {
		v = u
	}
	return slices.ContainsFunc(s.g.Underived(v),
		func(r string) bool { return !slices.Contains(target.Vars, r) })
}

// allKnown reports whether the loops in outer determine all of the target's variables.
func allKnown(s *state, target *cin.Access, outer []*cin.Forall) bool {
	for _, v := range target.Vars {
		leaves := []string{v}
		if slices.ContainsFunc(outer, func(o *cin.Forall) bool { return o.Var == v }) {
			continue
		}
		if c := s.g.Component(v); c != nil {
			leaves = c.Leaves // the last leaf determines the whole component
		}
		for _, x := range leaves {
			if !slices.ContainsFunc(outer, func(o *cin.Forall) bool { return s.g.ConsumerVar(o.Var) == x }) {
				return false
			}
		}
	}
	return true
}

// temporaryRace refuses to run the loop f on a unit if this could give a wrong value of temporary
// t, whose producer contains f. race says how races are avoided.
func temporaryRace(s *state, f *cin.Forall, t *cin.Access, unit cin.Unit, race cin.Race) error {
	onGPU := unit.OnGPU()
	switch {
	case len(t.Vars) > 0 && unit == cin.CPUThread && race == cin.Temporary:
		return nil
	case len(t.Vars) > 0 && onGPU &&
		(hasRaces(s, f, t) || race != cin.NoRaces && race != cin.IgnoreRaces):
		return s.refuse(2,
			"the iterations of %s share the workspace %s, so that they can run on %s only "+
				"with NoRaces and if each fills other elements", f.Var, t.Key(), unit)
	case len(t.Vars) == 0 && unit == cin.GPUBlock:
		return s.refuse(1,
			"iterations of %s add to the scalar %s, but blocks of a GPU cannot share a scalar",
			f.Var,
			t.Name)
	case len(t.Vars) > 0 && (unit == cin.CPUVector || onGPU) && !hasRaces(s, f, t) &&
		(race == cin.NoRaces || race == cin.IgnoreRaces):
		return nil // lowering later checks that the workspace is an array
	case len(t.Vars) > 0 && unit == cin.CPUVector:
		return s.refuse(1,
			"the loop over %s fills the workspace %s, which vector lanes would share; use "+
				"CPUThread with Temporary, where each thread has its own", f.Var, t.Key())
	case len(t.Vars) > 0:
		return s.refuse(2,
			"the loop over %s adds to the workspace %s; use Temporary, where each thread has "+
				"its own workspace", f.Var, t.Key())
	case race == cin.NoRaces:
		return s.refuse(2,
			"iterations of %s add to the scalar %s; use ParallelReduction or Temporary", f.Var,
			t.Name)
	case race == cin.Atomics:
		return s.refuse(2,
			"iterations of %s add to the local scalar %s; use ParallelReduction or Temporary",
			f.Var,
			t.Name)
	}
	return nil
}

// appendedRace refuses to run the loop f on a unit if f writes a result that is appended to, and
// this could break the result's order.
func appendedRace(s *state, f *cin.Forall, outer []*cin.Forall, unit cin.Unit,
	race cin.Race) error {
	target := cin.Target(s.body)
	form := s.problem.Formats[target.Name]
	first := target.Vars[form.Order[0]]
	switch {
	case (unit == cin.CPUVector || unit.OnGPU() && unit != cin.GPUBlock) &&
		(race == cin.ParallelReduction || race == cin.Temporary) && allKnown(s, target, outer):
		return nil // the loop sums one value, which is appended after the loop
	case unit.OnGPU():
		return countedRace(s, f, outer, race)
	case unit != cin.CPUThread || race != cin.NoRaces && race != cin.IgnoreRaces:
		return s.refuse(1,
			"%s (its format is %s) is appended to in order; want CPUThread with NoRaces, "+
				"where each thread builds its own part", target.Key(), form)
	case len(outer) > 0 || s.rootsOf(f.Var)[0] != first || len(s.rootsOf(f.Var)) > 1:
		return s.refuse(0,
			"%s (its format is %s) is appended to in order, so only the outermost loop over "+
				"its outermost variable, %s, can be parallel", target.Key(), form, first)
	}
	return nil
}

// oneLoop refuses to parallelize a loop that will become several loops or that merges several
// operands.
func oneLoop(s *state, f *cin.Forall, outer []*cin.Forall) error {
	v := f.Var
	if c := s.component(f.Var); c != nil {
		if !cin.Natural(s.body, s.g, c) || s.g.ConsumerVar(f.Var) != c.Leaves[len(c.Leaves)-1] {
			return nil // the loop is a counting loop
		}
		if len(c.Roots) > 1 && isRowCommand(s) {
			return nil
		}
		if len(c.Roots) > 1 {
			return s.refuse(0,
				"the loop over %s becomes one loop over rows and one inside it; split it "+
					"first, and parallelize the loop over tiles", f.Var)
		}
		v = c.Roots[0]
	}
	if s.isAppended() && cin.Target(f.Body).Name == cin.Target(s.body).Name {
		return nil // each chunk has its own loops
	}
	lat := s.lattice(v, f.Body, outer)
	if n := len(lat.Iters); n > 1 || n == 1 && lat.Universe() {
		what := "several operands at once: " + strings.Join(lat.Iters, ", ")
		if n == 1 {
			what = "the entries of " + lat.Iters[0] + " and all coordinates at once"
		}
		return s.refuse(0,
			"the loop over %s steps through %s, so it cannot be parallel; split or divide it, "+
				"and parallelize the loop over tiles", f.Var, what)
	}
	return nil
}
