package choice

import (
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Units is the choice of what runs the iterations of a loop: parallelize(i,UNIT,STRATEGY[,CHUNK]).
// STRATEGY says how iterations that write to the same place are kept apart. CHUNK is the number of
// iterations that a thread of a CPU takes at a time.
var Units = &Choice{
	Name: "parallelize",
	Params: []Param{{Kind: KeptParam, Name: "i"},
		{Kind: WordParam, Name: "UNIT", Words: []string{"CPUThread", "CPUVector", "GPUBlock", "GPUWarp",
			"GPUThread", "NotParallel"}},
		{Kind: WordParam, Name: "STRATEGY", Words: []string{"NoRaces", "IgnoreRaces", "Atomics",
			"Temporary", "ParallelReduction"}},
		{Kind: NumberParam, Name: "CHUNK", Least: 1, Optional: true},
		{Kind: FarParam, Name: "N", Optional: true}}, // of Threads, which has a word before it
	Meaning: "runs iterations on threads or in lanes",
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		if o.Far != 0 {
			return nil, misspelt(4, "got a second number; Work, Ordered, Rows or Whole must be before it")
		}
		name, word, _ := strings.Cut(o.Word, ",")
		unit, _ := cin.UnitByName(name)
		race, _ := cin.RaceByName(word)
		if o.N > 0 && (unit == cin.CPUVector || unit.OnGPU()) {
			return nil, refused(3,
				"got a chunk size for %s, want none: only CPUThread and GPUBlock have chunks", unit)
		}
		return runOn(f, cin.Loops(f.Body, o.Loop.Var),
			onUnit{facts: f, unit: unit, race: race, chunk: o.N})
	},
}

// onUnit is a loop that is to run on a unit.
type onUnit struct {
	facts *analysis.Facts
	loop  *cin.Forall
	outer []*cin.Forall // the loops around it, outermost first
	unit  cin.Unit
	race  cin.Race
	chunk int64 // the number of iterations that the unit takes at a time, or 0
	rows  bool  // the loop's rows are distributed over threads (RowLanes)
}

// runOn returns the statement's body with the loops in list on the unit of u. These loops are over
// the same variable.
func runOn(f *analysis.Facts, list []*cin.Forall, u onUnit) (cin.Stmt, error) {
	switch gpu := f.Problem.Target.GPU; {
	case u.unit.OnGPU() && !gpu:
		return nil, refused(1, "%s is a unit of a GPU, but this leaf is compiled for a CPU; want "+
			"--target=cuda or a unit of a CPU", u.unit)
	case u.unit != cin.Serial && !u.unit.OnGPU() && gpu:
		return nil, refused(1, "%s is a unit of a CPU, but --target=cuda compiles for a GPU; want "+
			"GPUBlock, GPUWarp or GPUThread", u.unit)
	}
	v := list[0].Var
	for _, u.loop = range list {
		switch {
		case u.loop.Unit != cin.Serial:
			return nil, refused(0, "the loop over %s is already parallel", v)
		case u.unit == cin.Serial:
			continue
		case u.loop.Unroll != 0:
			return nil, refused(0,
				"the loop over %s is unrolled, so it cannot be parallel; parallelize a loop "+
					"inside or around it", v)
		}
		if err := u.check(); err != nil {
			return nil, err
		}
	}
	if u.unit == cin.Serial {
		return f.Body, nil
	}
	return cin.MapLoops(f.Body, v, func(l *cin.Forall) cin.Stmt {
		g := *l
		if slices.Contains(list, l) {
			g.Unit, g.Race, g.Chunk = u.unit, u.race, u.chunk
		}
		return &g
	}), nil
}

// check returns an error if the loop cannot run on its unit with its race strategy.
func (u onUnit) check() error {
	f, l := u.facts, u.loop
	outer, temps := cin.Around(f.Body, l)
	u.outer = outer
	for _, o := range outer {
		if o.Unit == cin.CPUVector {
			return refused(0,
				"the loop over %s, around it, runs in vector lanes, so no loop inside it can "+
					"be parallel", o.Var)
		}
	}
	if u.unit == cin.CPUVector {
		if err := checkLanes(l); err != nil {
			return err
		}
	}
	if err := u.staysOneLoop(); err != nil {
		return err
	}
	target := cin.Target(l.Body)
	for _, t := range temps {
		if t.Name != target.Name && len(t.Vars) > 0 {
			return refused(0,
				"%s is computed between the loop over %s and an outer loop; want the parallel "+
					"loop outside it", t.Key(), l.Var)
		}
	}
	switch {
	case !f.Assigns(l.Body):
		return u.addsToTemporary(target)
	case isAppended(f):
		return u.appends(target)
	case hasRaces(f, l, target):
		return u.races(target)
	}
	return nil
}

// checkLanes returns an error for a loop in vector lanes whose body has a parallel loop or a
// workspace.
func checkLanes(l *cin.Forall) (err error) {
	cin.Walk(l.Body, func(t cin.Stmt) {
		switch t := t.(type) {
		case *cin.Forall:
			if t.Unit != cin.Serial {
				err = refused(0,
					"the loop over %s cannot run in vector lanes, because a loop inside it is "+
						"parallel", l.Var)
			}
		case *cin.Where:
			if w := cin.Target(t.Producer); len(w.Vars) > 0 {
				err = refused(1,
					"each iteration of %s fills the workspace %s, which vector lanes would "+
						"share; use CPUThread, where each thread has its own", l.Var, w.Key())
			}
		}
	})
	return err
}

// hasRaces reports whether two iterations of l may write to the same place of the target. The
// loop's variable is a variable of the statement, or is derived from one or more. If all these
// variables index the target, different iterations write to different places, and hasRaces returns
// false.
func hasRaces(f *analysis.Facts, l *cin.Forall, target *cin.Access) bool {
	v := f.Graph.ConsumerVar(l.Var)
	if u := f.Graph.TileOf(f.Graph.Underived(v)[0]); u != "" {
		v = u
	}
	return slices.ContainsFunc(f.Graph.Underived(v),
		func(r string) bool { return !slices.Contains(target.Vars, r) })
}

// ofOnePlace reports whether all iterations of the loop write to one place of the target, because
// the loops around it determine all of the target's variables.
func (u onUnit) ofOnePlace(target *cin.Access) bool {
	var vars []string
	for _, o := range u.outer {
		vars = append(vars, o.Var, u.facts.Graph.ConsumerVar(o.Var))
	}
	return !slices.ContainsFunc(target.Vars, func(v string) bool { return !u.facts.IsKnown(v, vars) })
}

// races checks a loop whose iterations may write to the same places of the target. It returns an
// error if the race strategy of the loop does not make this safe. It accepts IgnoreRaces, which
// leaves safety to the user.
func (u onUnit) races(target *cin.Access) error {
	f, race, v, key := u.facts, u.race, u.loop.Var, target.Key()
	copies := race == cin.Temporary || race == cin.ParallelReduction
	one := u.ofOnePlace(target)
	switch {
	case u.unit.OnGPU() && !one && copies:
		return refused(2,
			"iterations of %s add to many elements of %s, and a GPU's threads cannot have "+
				"copies; use Atomics", v, key)
	case race == cin.NoRaces:
		return refused(2,
			"iterations of %s add to the same elements of %s; use Atomics, Temporary or "+
				"ParallelReduction", v, key)
	case f.SharesLevels() && race != cin.Atomics && race != cin.IgnoreRaces && !one:
		return refused(2,
			"iterations of %s add to the same elements of %s, which has compressed levels "+
				"(its format is %s); use Atomics", v, key, f.Result.Format)
	case race == cin.Atomics && f.Problem.Compute.IsComplex() && !u.unit.OnGPU():
		return refused(2,
			"got Atomics, but complex numbers cannot be added atomically; use Temporary")
	case race == cin.Atomics && u.unit == cin.CPUVector:
		return refused(2,
			"got Atomics, but vector lanes cannot add atomically; use ParallelReduction if "+
				"all iterations add to one value")
	case race == cin.ParallelReduction && !one:
		return refused(2,
			"iterations of %s add to many elements of %s, but ParallelReduction is only for "+
				"one; use Temporary or Atomics", v, key)
	case race == cin.Temporary && u.unit == cin.CPUVector && !one:
		return refused(2,
			"vector lanes have no copies of %s; use ParallelReduction if all iterations add "+
				"to one value", key)
	}
	return nil
}

// addsToTemporary returns an error if the loop cannot run on its unit with its race strategy. The
// loop is inside the producer of temporary t.
func (u onUnit) addsToTemporary(t *cin.Access) error {
	v, race, onGPU := u.loop.Var, u.race, u.unit.OnGPU()
	races, promised := hasRaces(u.facts, u.loop, t), race == cin.NoRaces || race == cin.IgnoreRaces
	switch {
	case len(t.Vars) > 0 && u.unit == cin.CPUThread && race == cin.Temporary:
		return nil
	case len(t.Vars) > 0 && onGPU && (races || !promised):
		return refused(2,
			"the iterations of %s share the workspace %s, so that they can run on %s only "+
				"with NoRaces and if each fills other elements", v, t.Key(), u.unit)
	case len(t.Vars) > 0 && (u.unit == cin.CPUVector || onGPU) && !races && promised:
		return nil // lowering later checks that the workspace is an array
	case len(t.Vars) > 0 && u.unit == cin.CPUVector:
		return refused(1,
			"the loop over %s fills the workspace %s, which vector lanes would share; use "+
				"CPUThread with Temporary, where each thread has its own", v, t.Key())
	case len(t.Vars) > 0:
		return refused(2,
			"the loop over %s adds to the workspace %s; use Temporary, where each thread has "+
				"its own workspace", v, t.Key())
	case race == cin.NoRaces:
		return refused(2,
			"iterations of %s add to the scalar %s; use ParallelReduction or Temporary", v, t.Name)
	case race == cin.Atomics:
		return refused(2,
			"iterations of %s add to the local scalar %s; use ParallelReduction or Temporary",
			v, t.Name)
	}
	return nil
}

// appends returns an error if the loop could break the order of the result, which is appended to.
func (u onUnit) appends(target *cin.Access) error {
	f, l, form, first := u.facts, u.loop, u.facts.Result.Format, u.facts.Vars[0]
	roots := f.Graph.RootsOf(l.Var)
	switch {
	case (u.unit == cin.CPUVector || u.unit.OnGPU() && u.unit != cin.GPUBlock) &&
		(u.race == cin.ParallelReduction || u.race == cin.Temporary) && u.ofOnePlace(target):
		return nil // the loop sums one value, which is appended after the loop
	case u.unit == cin.GPUThread && u.race == cin.NoRaces && u.copiesTable():
		return nil // the table's entries are numbered before they are copied
	case u.unit.OnGPU():
		return u.counts(target)
	case u.unit != cin.CPUThread || u.race != cin.NoRaces && u.race != cin.IgnoreRaces:
		return refused(1,
			"%s (its format is %s) is appended to in order; want CPUThread with NoRaces, "+
				"where each thread builds its own part", target.Key(), form)
	case len(u.outer) > 0 || roots[0] != first || len(roots) > 1:
		return refused(0,
			"%s (its format is %s) is appended to in order, so only the outermost loop over "+
				"its outermost variable, %s, can be parallel", target.Key(), form, first)
	}
	return nil
}

// copiesTable reports whether the loop only copies a workspace along the result's last level.
func (u onUnit) copiesTable() bool {
	a, ok := u.loop.Body.(*cin.Assign)
	if !ok || u.loop.Var != u.facts.Vars[len(u.facts.Vars)-1] {
		return false
	}
	w, ok := a.RHS.(*cin.Access)
	return ok && slices.Equal(w.Vars, []string{u.loop.Var}) &&
		u.facts.Spaces[w.Name].Form.Kind == strategy.HashTable
}

// staysOneLoop returns an error if the loop cannot be parallel because it will become several loops
// or merges several operands.
func (u onUnit) staysOneLoop() error {
	f, l := u.facts, u.loop
	v := l.Var
	if c := f.Graph.OfLoop(v); c != nil {
		switch {
		case !cin.Natural(f.Body, f.Graph, c) || f.Graph.ConsumerVar(v) != c.Leaves[len(c.Leaves)-1],
			len(c.Roots) > 1 && u.rows:
			return nil // the loop counts, or its rows are distributed
		case len(c.Roots) > 1:
			return refused(0,
				"the loop over %s becomes one loop over rows and one inside it; split it "+
					"first, and parallelize the loop over tiles", v)
		}
		v = c.Roots[0]
	}
	if isAppended(f) && f.Assigns(l.Body) || u.unit == cin.GPUBlock && u.chunk > 0 {
		return nil // each chunk has its own loops
	}
	lat := inside(f, v, l.Body, u.outer, nil)
	if n := len(lat.Iters); n > 1 || n == 1 && lat.Universe() {
		what := "several operands at once: " + strings.Join(lat.Iters, ", ")
		if n == 1 {
			what = "the entries of " + lat.Iters[0] + " and all coordinates at once"
		}
		return refused(0,
			"the loop over %s steps through %s, so it cannot be parallel; split or divide it, "+
				"and parallelize the loop over tiles", l.Var, what)
	}
	return nil
}
