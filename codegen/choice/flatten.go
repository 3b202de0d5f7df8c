package choice

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Flatten is the choice to run a nest as one loop over positions: flatten(i). The result shares its
// pattern with an operand, and the positions are in the last compressed level of this pattern.
var Flatten = &Choice{
	Name:    "flatten",
	Params:  []Param{{Kind: LoopParam, Name: "i"}},
	Meaning: "makes one loop over entries of nested loops",
	CPUOnly: "the loop over positions is divided among the threads of a CPU",
	Default: func(f *analysis.Facts, _ *strategy.Value) []Chosen {
		return eachLoop(f, func(l *cin.Forall) (Order, string, bool) {
			return Order{}, fmt.Sprintf("%s has the pattern of %s, and nothing else reads "+
					"%s", f.Result.Name,
					f.Problem.Share, strings.Join(f.Vars[:max(f.LastCompressed, 0)], ", ")),
				isPositionLoop(f, l)
		})
	},
	Follow: followFlatten,
}

func followFlatten(f *analysis.Facts, v *strategy.Value, o Order) error {
	list := o.Loop.Outermost(f.Stmt)
	if len(list) == 0 {
		return fmt.Errorf("got %s, want the variable of an outermost loop", o.Loop)
	}
	for _, l := range list {
		switch {
		case !isPositionLoop(f, l):
			return fmt.Errorf(
				"the loop over %s must be the first over the levels of the operand whose "+
					"pattern %s has, and no other operand may need their coordinates",
				l.Var, f.Result.Name)
		case l.Unit == cin.CPUThread && l.Race != cin.Unsaid:
			return fmt.Errorf(
				"the loop over %s is already parallel in another way; positions must be "+
					"divided either into chunks of Work or not at all", l.Var)
		}
		v.At(l).OverPositions = true
	}
	return nil
}

// isPositionLoop reports whether one loop over positions can replace the nest l. The result must
// share the pattern of an operand. The nest must loop over the levels of this operand, down to the
// result's last compressed level. Nothing else may read the coordinates of the levels above that
// level.
//
// One loop over positions has two advantages. Short fibers have no loops of their own, and a chunk
// for a thread can begin at any position instead of only at a row.
func isPositionLoop(f *analysis.Facts, l *cin.Forall) bool {
	if !f.SharesLevels() || f.LastCompressed == 0 {
		return false
	}
	above := f.Vars[:f.LastCompressed]
	s := cin.Stmt(l)
	share := f.Sharer(l)
	if share == nil {
		return false
	}
	for k, v := range f.Vars[:f.LastCompressed+1] {
		g, ok := s.(*cin.Forall)
		if !ok || g.Var != v || k > 0 && (g.Unit != cin.Serial || !share.Kind(k).HasPos()) {
			return false
		}
		s = g.Body
	}
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		vars := a.Vars
		if a.Key() == f.Problem.Share {
			vars = share.LevelVars(a)[f.LastCompressed+1:]
		}
		ok = ok && !slices.ContainsFunc(vars, func(v string) bool { return slices.Contains(above, v) })
	})
	return ok
}
