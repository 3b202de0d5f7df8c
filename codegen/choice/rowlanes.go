package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/strategy"
)

// RowLanes is the choice to distribute the rows in a tile of positions over the threads of a GPU:
// parallelize(p,GPUThread,Atomics,Rows[,N]). p is the loop that sums the entries of the tile into
// rows. If the tile has at least N rows, each thread of the block or warp that runs the loop sums
// whole rows. If the tile has fewer rows, the lanes of a warp sum the entries of each row together.
var RowLanes = &Choice{
	Name: Units.Name,
	Params: []Param{{Kind: KeptParam, Name: "p"}, {Kind: WordParam, Words: []string{"GPUThread"}},
		{Kind: TextParam, Words: []string{"Atomics"}}, {Kind: WordParam, Words: []string{"Rows"}},
		{Kind: PartParam, Name: "N", Optional: true}},
	Meaning: Units.Meaning,
	Takes: func(args []string) bool {
		return len(args) > 3 && args[1] == "GPUThread" && args[3] == "Rows"
	},
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		switch {
		case o.Word != "Atomics":
			return nil, refused(2, "got %s, want Atomics: two tiles may add to the same first or last row",
				o.Word)
		case o.Name != "":
			return nil, misspelt(4, "got %s, want a number of rows", o.Name)
		}
		return runOn(f, cin.Loops(f.Body, o.Loop.Var),
			onUnit{facts: f, unit: cin.GPUThread, race: cin.Atomics, rows: true})
	},
	Follow: followRowLanes,
}

// blockRows and warpRows decide how the rows of a tile are summed. If a block runs the tile and the
// tile has at least blockRows rows, one thread sums each row. If the tile has fewer rows, the lanes
// of a warp sum each row together. If one warp runs the tile instead of a block, the limit is
// warpRows.
//
// With fewer than 16 rows, each of the eight warps of a block sums at most two rows. Limits from 4
// to 128 were measured to be equally fast, on matrices with even and with skewed rows. A warp adds
// the sums of its lanes by shuffles. This takes about as long as one thread takes to add ten places
// of a row.
const (
	blockRows = 16
	warpRows  = 8
)

func followRowLanes(f *analysis.Facts, v *strategy.Value, o Order) error {
	done := false
	var walk func(s cin.Stmt, inWarp bool) error
	walk = func(s cin.Stmt, inWarp bool) error {
		switch s := s.(type) {
		case *cin.Forall:
			if s.Var != o.Loop.Var {
				return walk(s.Body, inWarp || s.Unit == cin.GPUWarp)
			}
			if err := sharesRows(f, s, v); err != nil {
				return err
			}
			loop := v.At(s)
			if loop.RowLanes = o.N; o.N == 0 {
				if loop.RowLanes = blockRows; inWarp {
					loop.RowLanes = warpRows
				}
			}
			done = true
		case *cin.Where:
			if err := walk(s.Producer, inWarp); err != nil {
				return err
			}
			return walk(s.Consumer, inWarp)
		case *cin.Seq:
			for _, t := range s.List {
				if err := walk(t, inWarp); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(f.Stmt, false); err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("got %s, want the variable of a loop", o.Loop)
	}
	return nil
}

// sharesRows returns an error unless the loop l sums the values at the positions of a tile into
// rows of a dense result.
func sharesRows(f *analysis.Facts, l *cin.Forall, v *strategy.Value) error {
	c, natural := f.Component(l.Var)
	a, ok := l.Body.(*cin.Assign)
	switch {
	case c == nil || len(c.Roots) < 2 || !natural || l.Var != c.Leaves[len(c.Leaves)-1] ||
		f.Graph.PositionsOf(l.Var) == "":
		return fmt.Errorf(
			"the loop over %s must be the innermost loop over fused positions of rows and "+
				"their entries",
			l.Var)
	case !ok:
		return fmt.Errorf(
			"the loop over %s must be innermost and contain only one sum", l.Var)
	case !f.Assigns(l) || !f.Result.Format.AllDense():
		return fmt.Errorf("%s must be a result with dense levels, because the loop over %s adds to "+
			"its rows",
			a.LHS.Key(), l.Var)
	case !a.Accumulate || slices.Contains(a.LHS.Vars, c.Roots[len(c.Roots)-1]):
		return fmt.Errorf(
			"the loop over %s writes a different element of %s for each position; it must sum "+
				"rows", l.Var,
			a.LHS.Key())
	}
	key := f.Graph.PositionsOf(l.Var)
	if !slices.ContainsFunc(c.Roots, func(r string) bool { return slices.Contains(a.LHS.Vars, r) }) {
		return fmt.Errorf("%s is one sum of all rows of %s; want a sum for each row",
			a.LHS.Key(), key)
	}
	return placesOfRows(f, a, c.Roots, key, v)
}

// placesOfRows returns an error unless the sum can read all its values by the positions of key.
// Each value must be of one of three kinds: a value stored at these positions, a value in a
// workspace that has a place for each of these positions, or a value of a dense operand. The rows
// of key must also be found by the positions where they begin.
func placesOfRows(f *analysis.Facts, a *cin.Assign, roots []string, key string,
	v *strategy.Value) error {
	op := f.TensorOf(key)
	driver, err := "", error(nil)
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		t := f.Tensor(x.Name)
		switch {
		case err != nil:
		case x.Key() == key || t == nil && v.Spaces[x.Name].Form.Kind == strategy.Positions &&
			v.Spaces[x.Name].Form.Key == key:
			if driver != "" && driver != x.Key() {
				err = fmt.Errorf(
					"%s and %s are both read at positions; use precompute for one of them",
					driver,
					x.Key())
			}
			driver = x.Key()
		case t == nil || !t.Format.AllDense():
			err = fmt.Errorf(
				"%s is read together with %s, so it must be addressed by the same positions",
				x.Key(), key)
		}
	})
	last := op.Order() - 1
	first := last + 1 - len(roots)
	switch {
	case err != nil:
		return err
	case driver == "" || !lattice.Annihilates(a.RHS, driver):
		return fmt.Errorf(
			"%s has values where %s has none, and these have no position",
			cin.ExprString(a.RHS), key)
	case first < 0 || !op.Kind(last).HasPos():
		return fmt.Errorf(
			"the last level of %s (its format is %s) must be compressed, because rows are found by the "+
				"positions where they begin", key, op.Format)
	}
	if !plainLevels(op, first) {
		return fmt.Errorf(
			"each row of %s (its format is %s) must have exactly one position of the level above",
			key, op.Format)
	}
	return nil
}
