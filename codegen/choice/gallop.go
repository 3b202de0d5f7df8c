package choice

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/strategy"
)

// Gallop is the choice whether a loop searches for the coordinates that several operands have in
// common. If a later command replaces the loop over i, the choice applies to the new loops.
//
//	mergeby(i,TwoFinger)  visits the coordinates of each operand one after another
//	mergeby(i,Gallop)     finds the largest of the operands' current coordinates, and searches
//	                      every other operand for this coordinate
var Gallop = &Choice{
	Name: "mergeby",
	Params: []Param{{Kind: VarParam, Name: "i"},
		{Kind: WordParam, Words: []string{twoFinger, gallop}}},
	Meaning: MergeBy.Meaning,
	Takes: func(args []string) bool {
		return len(args) > 1 && (args[1] == twoFinger || args[1] == gallop)
	},
	BeforeParallelize: true,
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		return cin.MapLoops(f.Body, o.Loop.Var, func(l *cin.Forall) cin.Stmt {
			g := *l
			g.Gallop = o.Word == gallop
			return &g
		}), nil
	},
	AtEnd: searches,
	Default: func(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
		for _, x := range f.Problem.Lookups {
			if x.Var != "" {
				out = append(out, Chosen{Order: Order{Word: gallop}.of(x.Var), Why: x.Why})
			}
		}
		return out
	},
}

// The words of Gallop.
const (
	twoFinger = "TwoFinger"
	gallop    = "Gallop"
)

// searches checks the loops that the instruction o of Gallop has marked. It returns an error if a
// loop cannot search for the coordinates that operands have in common. A loop cannot search if it
// visits coordinates that not all operands have, or if it computes its coordinates. A loop over
// several operands also cannot search if a level is padded or has repeated coordinates.
func searches(f *analysis.Facts, o Order) (err error) {
	if o.Word != gallop {
		return nil
	}
	root := f.Graph.Underived(o.Loop.Var)[0]
	cin.Walk(f.Body, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok && l.Gallop && err == nil &&
			slices.Contains(f.Graph.RootsOf(l.Var), root) {
			err = canSearch(f, l)
		}
	})
	if err != nil {
		return refused(1, "got Gallop, which searches for coordinates common to all operands, but %v",
			err)
	}
	return nil
}

// canSearch returns an error if the loop l cannot search for coordinates that operands have in
// common.
func canSearch(f *analysis.Facts, l *cin.Forall) error {
	if c := f.Graph.OfLoop(l.Var); c != nil &&
		(!cin.Natural(f.Body, f.Graph, c) || f.Graph.ConsumerVar(l.Var) != c.Leaves[len(c.Leaves)-1]) {
		return fmt.Errorf("the loop over %s computes each coordinate and looks it up in every operand",
			l.Var)
	}
	outer, _ := cin.Around(f.Body, l)
	for k, v := range f.Graph.RootsOf(l.Var) {
		lat := inside(f, v, l.Body, outer, f.Graph.RootsOf(l.Var)[:k])
		if len(lat.Points) > 1 || len(lat.Iters) > 0 && lat.Universe() {
			return fmt.Errorf("the loop over %s also visits coordinates that not all of %s have; use "+
				"TwoFinger", l.Var, strings.Join(lat.Iters, ", "))
		}
		for _, key := range lat.Iters {
			if err := inOrderAlong(f, key, v); err != nil && len(lat.Iters) > 1 {
				return err
			}
		}
	}
	return nil
}

// inside returns the merge lattice of a loop over v, a variable of the statement, with the given
// body. loops has the loops around this loop. further lists more variables of the statement that
// have loops around it.
func inside(f *analysis.Facts, v string, body cin.Stmt, loops []*cin.Forall,
	further []string) *lattice.Lattice {
	bound := slices.Clone(further)
	for _, l := range loops {
		bound = append(bound, f.Graph.RootsOf(l.Var)...)
	}
	bound = slices.DeleteFunc(bound, func(u string) bool { return u == v })
	return loopLattice(f, v, body, scope{bound: bound})
}

// inOrderAlong returns an error if a loop cannot search a level for a coordinate, because the level
// is padded or has repeated coordinates. key is the key of an access, and v is the variable of the
// level.
func inOrderAlong(f *analysis.Facts, key, v string) (err error) {
	for _, x := range f.Operands(f.Body) {
		for l, u := range x.Vars {
			switch {
			case x.Key != key || u != v:
			case x.Tensor.Kind(l).IsPadded():
				err = fmt.Errorf("%s is padded there (its format is %s)", key, x.Tensor.Format)
			case x.Tensor.Format.HasRepeats(l):
				err = fmt.Errorf("%s keeps repeated coordinates there (its format is %s)",
					key, x.Tensor.Format)
			}
		}
	}
	return err
}
