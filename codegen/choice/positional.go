package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// maxPositions is the largest size of a workspace that has one place for each position in a tile.
const maxPositions = 1 << 14

// positional returns a form of workspace t that has a place for each position in a tile. The
// positions belong to an operand. w is the Where that fills t. In this form, the producer and the
// consumer both run over the positions of the tile, and each position has a value. A place
// therefore needs neither coordinates nor a mark. positional returns an error if t cannot have this
// form.
func positional(f *analysis.Facts, w *cin.Where, t *cin.Access) (strategy.Form, error) {
	loops, a, err := filling(w, t)
	if err != nil {
		return strategy.Form{}, err
	}
	key, n, err := tileOfPositions(f, loops, t)
	if err != nil {
		return strategy.Form{}, err
	}
	if tileOf(f, loops) != "" {
		for _, v := range loops {
			if r := f.Graph.MadeBy(v); r != nil && r.Kind == provenance.Bound {
				return strategy.Form{}, fmt.Errorf(
					"the loop over %s fills %s, so it must cover all of its range; it has "+
						"other bounds", v, t.Key())
			}
		}
	}
	if err := checkEverywhere(f, a, key, t); err != nil {
		return strategy.Form{}, err
	}
	if err := readsPlaces(w.Consumer, t); err != nil {
		return strategy.Form{}, err
	}
	form := strategy.Form{Kind: strategy.Positions, Key: key, Len: n}
	form.Each = eachPlace(f, w.Consumer, t, loops, form)
	return form, nil
}

// filling returns the loop variables and the assignment of a producer that only fills workspace t.
// It returns an error if the producer does more, or if one of its loops runs on threads.
func filling(w *cin.Where, t *cin.Access) (loops []string, a *cin.Assign, err error) {
	s := w.Producer
	for {
		switch x := s.(type) {
		case *cin.Forall:
			if x.Unit == cin.CPUThread {
				return nil, nil, fmt.Errorf(
					"the loop over %s fills %s, so it must not run on threads", x.Var, t.Key())
			}
			loops, s = append(loops, x.Var), x.Body
			continue
		case *cin.Assign:
			if len(loops) > 0 {
				return loops, x, nil
			}
		}
		return nil, nil, fmt.Errorf("%s must be filled by only one statement", t.Key())
	}
}

// tileOfPositions describes the tile of positions that the given loops visit to fill workspace t.
// The positions belong to the access with the key that is returned. n is the largest number of
// positions in a tile. An error says why the loops do not visit such a tile.
func tileOfPositions(f *analysis.Facts, loops []string, t *cin.Access) (key string, n int64,
	err error) {
	last := loops[len(loops)-1]
	if tile := tileOf(f, loops); tile != "" {
		loops = f.Graph.FullyDerived(tile)
		last = loops[len(loops)-1]
	}
	c, natural := f.Component(loops[0])
	switch {
	case c == nil || f.Graph.PositionsOf(last) == "":
		return "", 0, fmt.Errorf(
			"the loop over %s fills %s, so it must run over positions, not coordinates",
			last, t.Key())
	case !natural || len(loops) > len(c.Leaves) ||
		!slices.Equal(loops, c.Leaves[len(c.Leaves)-len(loops):]):
		return "", 0, fmt.Errorf(
			"the loops that fill %s must run over a tile of positions in order",
			t.Key())
	case !slices.Equal(t.Vars, c.Roots):
		return "", 0, fmt.Errorf(
			"%s must be over the variables of one tile of positions", t.Key())
	}
	tile := last
	for r := f.Graph.MadeBy(tile); r.Kind != provenance.Pos &&
		len(f.Graph.FullyDerived(r.From[0])) <= len(loops); r = f.Graph.MadeBy(tile) {
		tile = r.From[0]
	}
	if n, ok := f.MostPositions(tile); ok && n <= maxPositions {
		return f.Graph.PositionsOf(last), n, nil
	}
	return "", 0, fmt.Errorf(
		"%s is filled over tiles of positions, which must have a constant length of at most %d",
		t.Key(),
		maxPositions)
}

// tileOf returns a variable of a workspace's consumer. The given loops of the producer visit
// exactly one tile of this variable. The schedule must have given the producer a separate variable
// for this tile, and the given loops must be all loops that are derived from the separate variable.
// If not, tileOf returns "".
func tileOf(f *analysis.Facts, loops []string) string {
	own := f.Graph.Underived(loops[0])[0]
	tile := f.Graph.TileOf(own)
	if tile == "" || len(loops) != len(f.Graph.FullyDerived(own)) ||
		!slices.Contains(f.Graph.Filled(loops), tile) {
		return ""
	}
	return tile
}

// isCutApart reports whether the schedule transformed the loops of a workspace's producer
// separately from the consumer's loops, so that the producer fills one tile of the consumer with
// loops of its own. name is the name of the workspace.
func isCutApart(f *analysis.Facts, name string) bool {
	found := false
	eachWorkspace(f.Stmt, func(t *cin.Access, w *cin.Where) {
		if loops, _, err := filling(w, t); err == nil && t.Name == name {
			found = found || tileOf(f, loops) != ""
		}
	})
	return found
}

// checkEverywhere checks assignment a to workspace t. It returns an error unless a has a value at
// every position of the access with the given key, and at no other place. It also returns an error
// if these are not positions of the access's last level, or if this level stores repeated
// coordinates.
func checkEverywhere(f *analysis.Facts, a *cin.Assign, key string, t *cin.Access) error {
	if !lattice.Annihilates(a.RHS, key) {
		return fmt.Errorf(
			"%s has values where %s has none, and these have no position",
			cin.ExprString(a.RHS), key)
	}
	var err error
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		op := f.Tensor(x.Name)
		switch {
		case err != nil:
		case x.Key() == key:
			last := op.Order() - 1
			first := op.Order() - len(t.Vars)
			if first < 0 || !slices.Equal(op.LevelVars(x)[first:], t.Vars) {
				err = fmt.Errorf(
					"%s has levels below those whose positions fill %s; want its last level",
					key, t.Key())
			} else if !op.Kind(last).IsUnique() {
				err = fmt.Errorf(
					"%s stores repeated coordinates (its format is %s), so its positions "+
						"cannot be used", key, op.Format)
			}
		case op == nil || !op.Format.AllDense():
			err = fmt.Errorf(
				"%s must have a value at every position of %s, but has none where %s has none",
				cin.ExprString(a.RHS),
				key, x.Key())
		}
	})
	return err
}

// maxEach is the largest number of places in a tile for which a completely unrolled loop over all
// places is used.
const maxEach = 64

// eachPlace reports whether the consumer of workspace t is lowered to one loop over all places of a
// tile, instead of a loop over rows. This is done for two kinds of loops. One is a completely
// unrolled loop, because a loop over rows would be copied once for each row. The other is a loop on
// a GPU, where a thread's registers have no addresses. A loop over places has constant indices, so
// the tile stays in registers.
func eachPlace(f *analysis.Facts, consumer cin.Stmt, t *cin.Access, loops []string,
	form strategy.Form) bool {
	var last *cin.Forall
	s := consumer
	for l, ok := s.(*cin.Forall); ok; l, ok = s.(*cin.Forall) {
		last, s = l, l.Body
	}
	a, ok := s.(*cin.Assign)
	op := f.TensorOf(form.Key)
	if !ok || len(loops) != 1 || last == nil || last.Var != loops[0] || last.Unit != cin.Serial ||
		form.Len > maxEach || !sumsRows(f, a, t) || !plainLevels(op, op.Order()-len(t.Vars)) {
		return false
	}
	return last.Unroll == cin.AllIterations || last.Unroll >= form.Len ||
		last.Unroll == 0 && runsOnGPU(f)
}

// sumsRows reports whether a only adds to rows of a dense result, and adds values that exist at
// each place of workspace t.
func sumsRows(f *analysis.Facts, a *cin.Assign, t *cin.Access) bool {
	ok := a.Accumulate && f.Assigns(a) && f.Result.Format.AllDense() &&
		!slices.Contains(a.LHS.Vars, t.Vars[len(t.Vars)-1])
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		op := f.Tensor(x.Name)
		ok = ok && (x.Name == t.Name || op != nil && op.Format.AllDense())
	})
	return ok
}

// plainLevels reports whether the levels of op from number first to the last are plain. No level
// may store a coordinate twice in a segment. Each level below the first must be dense or have a
// position array.
func plainLevels(op *analysis.Tensor, first int) bool {
	for k := first; k < op.Order(); k++ {
		caps := op.Kind(k)
		if !caps.IsUnique() || k > first && !caps.HasPos() && !caps.CanLocate() {
			return false
		}
	}
	return true
}

// runsOnGPU reports whether loops of the statement run on a GPU.
func runsOnGPU(f *analysis.Facts) bool {
	found := false
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		l, ok := s.(*cin.Forall)
		found = found || ok && l.Unit.OnGPU()
	})
	return found
}

// readsPlaces returns an error if the consumer of workspace t cannot read t by position. There are
// three possible reasons. The consumer has values at coordinates where t has none, it fills a
// temporary, or it reads t at other coordinates than the current coordinates of its loops.
func readsPlaces(consumer cin.Stmt, t *cin.Access) (err error) {
	cin.Walk(consumer, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			err = fmt.Errorf(
				"the loops that read %s also fill %s; want only one of the two",
				t.Key(), cin.Target(s.Producer).Key())
		case *cin.Assign:
			if !lattice.Annihilates(s.RHS, t.Key()) {
				err = fmt.Errorf(
					"%s has values where %s has none, and these have no position",
					cin.ExprString(s.RHS), t.Key())
			}
			cin.ExprAccesses(s.RHS, func(x *cin.Access) {
				if x.Name == t.Name && x.Key() != t.Key() {
					err = fmt.Errorf(
						"%s must be read with the variables that fill it; it is read as %s",
						t.Key(), x.Key())
				}
			})
		}
	})
	return err
}
