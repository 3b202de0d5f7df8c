package choice

import (
	"errors"
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
)

// Grid is the choice to run an outermost loop on all threads of a GPU:
// parallelize(i,GPUBlock,STRATEGY,CHUNK). A block runs CHUNK neighbouring iterations. Each thread
// of the block runs one iteration, or several neighbouring iterations if CHUNK is more than the
// number of threads.
var Grid = &Choice{
	Name: Units.Name,
	Params: []Param{{Kind: LoopParam, Name: "i"}, {Kind: WordParam, Words: []string{"GPUBlock"}},
		Units.Params[2], {Kind: NumberParam, Name: "CHUNK", Least: 1}},
	Meaning: Units.Meaning,
	Takes:   func(args []string) bool { return len(args) == 4 && args[1] == "GPUBlock" },
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		list := o.Loop.Outermost(f.Body)
		if len(list) == 0 {
			return nil, refused(0, "only an outermost loop can be divided into chunks for blocks; the "+
				"loop over %s is inside another", o.Loop.String())
		}
		if f.Graph.OfLoop(o.Loop.Var) != nil {
			return nil, refused(0, "got %s, want a variable of the statement whose loop is not made by "+
				"another command", o.Loop.String())
		}
		race, _ := cin.RaceByName(o.Word)
		return runOn(f, list, onUnit{facts: f, unit: cin.GPUBlock, race: race, chunk: o.N})
	},
}

// counts checks a loop on a GPU unit that writes a result in two passes. The first pass counts the
// entries of each row of the result, and the second pass writes them. The race strategy of the loop
// must be NoRaces or IgnoreRaces. The loop and all loops around it must be over the result's
// outermost variable. There is one exception to both rules (see writesParts).
func (u onUnit) counts(target *cin.Access) error {
	f, form, first := u.facts, u.facts.Result.Format, u.facts.Vars[0]
	other := func(l *cin.Forall) bool {
		return !slices.Equal(f.Graph.RootsOf(l.Var), []string{first})
	}
	switch {
	case u.writesParts():
		return nil
	case u.race != cin.NoRaces && u.race != cin.IgnoreRaces:
		return refused(2,
			"%s (its format is %s) is counted and written row by row; want NoRaces, on a loop "+
				"over its outermost variable, %s", target.Key(), form, first)
	case other(u.loop) || slices.ContainsFunc(u.outer, other):
		return refused(0,
			"%s (its format is %s) is counted and written row by row; only loops over its "+
				"outermost variable, %s, can be parallel", target.Key(), form, first)
	}
	return nil
}

// writesParts reports whether the loop is over tiles of a row of a matrix. A thread of the GPU then
// writes a tile. The loops around it must be over rows.
func (u onUnit) writesParts() bool {
	f, v := u.facts, u.loop.Var
	c := f.Graph.OfLoop(v)
	return u.unit == cin.GPUThread && u.race == cin.NoRaces && c != nil && len(f.Vars) == 2 &&
		slices.Equal(f.Graph.RootsOf(v), f.Vars[1:]) && v != c.Leaves[len(c.Leaves)-1] &&
		!slices.ContainsFunc(u.outer,
			func(l *cin.Forall) bool { return !slices.Equal(f.Graph.RootsOf(l.Var), f.Vars[:1]) })
}

// CheckGrid checks the loops of a statement against the rules of a GPU. It is called after all
// commands, so that commands may name the units in any order. orders has the instructions of the
// commands. If a loop breaks a rule, CheckGrid returns this loop and the reason. If a loop is
// missing, it returns a nil loop and the reason.
//
// There are two rules about blocks. A loop on blocks inside another loop is wrong, because each
// iteration of the other loop would launch a grid. A nest without a loop on blocks is wrong,
// because it would run on a single thread. The loops around the loops that a library runs are on
// the host. They must not be on units of a GPU, and are not checked otherwise.
func CheckGrid(p *analysis.Problem, orders []Order) (l *cin.Forall, err error) {
	f := analysis.New(p)
	if l, why := cin.MisplacedUnit(f.Body); l != nil {
		return l, errors.New(why)
	}
	var ofHost []*cin.Forall
	cin.Paths(f.Body, func(loops []*cin.Forall, _ *cin.Assign) {
		if n := ofLibrary(orders, loops); n > 0 {
			ofHost = append(ofHost, loops[:len(loops)-n]...)
		}
	})
	cin.Paths(f.Body, func(loops []*cin.Forall, a *cin.Assign) {
		if err != nil || len(loops) == 0 {
			return
		}
		n := ofLibrary(orders, loops)
		if k := slices.IndexFunc(loops[:len(loops)-n],
			func(l *cin.Forall) bool { return n > 0 && l.Unit.OnGPU() }); k >= 0 {
			l, err = loops[k], errors.New("the host calls the library that runs the loops inside it, so "+
				"this loop cannot run on a GPU")
			return
		}
		for len(loops) > 0 && slices.Contains(ofHost, loops[0]) {
			loops = loops[1:]
		}
		if n == 0 && len(loops) > 0 {
			l, err = blocksOutermost(loops, a)
		}
	})
	return l, err
}

// blocksOutermost returns an error if the outermost of the loops around a does not run on blocks.
// With an error, l is the loop on blocks, or nil if there is none.
func blocksOutermost(loops []*cin.Forall, a *cin.Assign) (l *cin.Forall, err error) {
	switch k := slices.IndexFunc(loops,
		func(l *cin.Forall) bool { return l.Unit == cin.GPUBlock }); {
	case k < 0:
		return nil, fmt.Errorf("no loop around %[2]s runs on GPUBlock, so one thread of the GPU would "+
			"run the loop over %[1]s; add parallelize(%[1]s,GPUBlock,...)", loops[0].Var, cin.String(a))
	case k > 0:
		return loops[k], fmt.Errorf("the loop over %s is around it, so that each iteration would launch "+
			"a grid of blocks; the loop on GPUBlock must be outermost, as reorder makes it",
			loops[0].Var)
	}
	return nil, nil
}

// ofLibrary returns the number of innermost loops that a library runs, or 0 if it runs none. loops
// has all loops around an assignment, outermost first. orders has the instructions. An instruction
// of Substitute names the variables of the library's loops.
func ofLibrary(orders []Order, loops []*cin.Forall) int {
	for _, o := range orders {
		list := o.Vars()
		if n := len(list); o.Choice == Substitute && n <= len(loops) &&
			!slices.ContainsFunc(loops[len(loops)-n:],
				func(l *cin.Forall) bool { return !slices.Contains(list, l.Var) }) {
			return n
		}
	}
	return 0
}
