package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Tile orders that rows of the result are summed in registers: tile(k,N).
type Tile struct {
	Var   string
	Width int64
}

func (o Tile) String() string { return fmt.Sprintf("tile(%s,%d)", o.Var, o.Width) }

func (o Tile) follow(f *facts, v *Value) error {
	x, found, _ := f.rowTiles(v)
	switch {
	case o.Width < 2 || o.Width > 2*maxTile:
		return fmt.Errorf("got tiles of %d values, want at least 2 and at most %d", o.Width, 2*maxTile)
	case x != o.Var || len(found) == 0:
		return fmt.Errorf(
			"%s does not run along rows of the result that are summed: it must be the last level, a dense one, of the result and of all tensors that have it, inside loops that sum, with a loop over %s itself", o.Var, o.Var)
	}
	v.Row = Row{Var: x, Width: o.Width}
	for _, s := range found {
		v.Tiles[s] = o.Width
	}
	return nil
}

// Jam orders that loops over a variable are moved into the loops inside them that sum, a tile of N
// values at a time: jam(k,N).
type Jam struct {
	Var   string
	Width int64
}

func (o Jam) String() string { return fmt.Sprintf("jam(%s,%d)", o.Var, o.Width) }

func (o Jam) follow(f *facts, v *Value) error {
	x := f.loweredVar(o.Var)
	switch {
	case o.Width > 2*maxTile:
		return fmt.Errorf("got tiles of %d values, want at most %d; 1 means that the loop is not moved",
			o.Width, 2*maxTile)
	case len(f.vars) == 0 || x != f.vars[len(f.vars)-1] || len(f.vars)-1 <= f.deep ||
		!f.canJam(f.stmt, nil):
		return fmt.Errorf(
			"no loop over %s can be moved into the loops inside it: want a loop over the result's last level, dense there and in all tensors that have %s, directly around loops in order that sum", o.Var, o.Var)
	}
	v.Jam = Row{}
	if o.Width > 1 {
		v.Jam = Row{Var: x, Width: o.Width, Why: soOrdered}
	}
	return nil
}

// Count states that the range of a variable is [0, N): bound(i,i,N,MaxExact).
type Count struct {
	Var string
	N   int64
}

func (o Count) String() string { return fmt.Sprintf("bound(%s,%s,%d,MaxExact)", o.Var, o.Var, o.N) }

func (o Count) follow(f *facts, v *Value) error {
	whole := false
	for _, u := range f.problem.Exact {
		whole = whole || u == o.Var
	}
	switch {
	case !whole:
		return fmt.Errorf("the range of %s is cut into blocks, or is not known to be whole", o.Var)
	case f.problem.Sizes[o.Var] != o.N:
		return fmt.Errorf("%s has %d coordinates, got %d", o.Var, f.problem.Sizes[o.Var], o.N)
	}
	if v.Trips == nil {
		v.Trips = map[string]Trip{}
	}
	v.Trips[o.Var] = Trip{N: o.N}
	return nil
}

// Fetch orders prefetching. Its commands are:
//
//	prefetch(T,i,N)      fetches into the nearest cache, N entries before use
//	prefetch(T,i,N,FAR)  also fetches rows into the second-level cache, FAR entries before use
//	prefetch(T,i,0,FAR)  fetches rows into the second-level cache only
//	prefetch(T,i,0)      leaves fetching to the processor
//
// It fetches the rows of a dense operand, a sparse matrix or a dense result that i selects, or the
// entries of the only sparse operand if they are summed along i.
type Fetch struct {
	Tensor, Var string
	Ahead, Far  int64
}

func (o Fetch) String() string {
	if o.Far > 0 {
		return fmt.Sprintf("prefetch(%s,%s,%d,%d)", o.Tensor, o.Var, o.Ahead, o.Far)
	}
	return fmt.Sprintf("prefetch(%s,%s,%d)", o.Tensor, o.Var, o.Ahead)
}

func (o Fetch) follow(f *facts, v *Value) error {
	a := cin.Target(f.stmt)
	if o.Tensor != a.Key() && (o.Tensor != a.Name || f.tensor(a.Name) != nil) {
		var err error
		if a, _, err = f.access(o.Tensor); err != nil {
			return err
		}
	}
	if n := max(o.Ahead, o.Far); n > 1<<16 {
		return fmt.Errorf("got %d entries ahead, want at most %d", n, 1<<16)
	}
	if o.Far > 0 && o.Far <= o.Ahead {
		return fmt.Errorf(
			"got %d entries ahead for the cache of the second level, want more than the %d for the nearest",
			o.Far, o.Ahead)
	}
	how := Prefetch{Key: a.Key(), Var: o.Var, Ahead: o.Ahead, Far: o.Far, Lines: -1, Why: soOrdered}
	f.eachSelectedRow(func(b *cin.Access, t *Tensor, u string, row int64, _ float64) {
		if b.Key() == a.Key() && u == o.Var {
			how.Lines = lines(row, t.Type)
		}
	})
	f.eachStream(func(b *cin.Access, _ *Tensor, u string) {
		if b.Key() == a.Key() && u == o.Var && o.Far == 0 {
			how.Lines = 0
		}
	})
	f.eachSelectedMatrix(func(b *cin.Access, u string, _ float64) {
		if b.Key() == a.Key() && u == o.Var {
			how.Lines = 1
		}
	})
	if how.Lines < 0 {
		return fmt.Errorf(
			"%s does not select rows of %s: its last two levels must be dense, and %s the variable of the first of them", o.Var, a.Key(), o.Var)
	}
	v.Prefetch = slices.DeleteFunc(v.Prefetch,
		func(p Prefetch) bool { return p.Key == how.Key && p.Var == how.Var })
	if how.Any() {
		v.Prefetch = append(v.Prefetch, how)
	}
	return nil
}

// Vectorize orders that innermost loops over a variable run in vector lanes. vectorize(i) is for
// loops along contiguous memory. vectorize(i,T) is for loops along the entries of T that only sum
// gathered values.
type Vectorize struct {
	Var    string
	Tensor string // "" if the order is for contiguous memory
}

func (o Vectorize) String() string {
	if o.Tensor == "" {
		return fmt.Sprintf("vectorize(%s)", o.Var)
	}
	return fmt.Sprintf("vectorize(%s,%s)", o.Var, o.Tensor)
}

func (o Vectorize) follow(f *facts, v *Value) error {
	if o.Tensor == "" {
		if v.Lanes == nil {
			v.Lanes = map[string]string{}
		}
		v.Lanes[f.loweredVar(o.Var)] = soOrdered
		return nil
	}
	a, t, err := f.access(o.Tensor)
	if err != nil {
		return err
	}
	for k, u := range t.levels(a) {
		if u == f.loweredVar(o.Var) && !t.caps(k).CanLocate() {
			v.Gathers = append(v.Gathers, Gather{Key: a.Key(), Var: u})
			return nil
		}
	}
	return fmt.Errorf("%s does not store entries along %s", a.Key(), o.Var)
}

// Predicate orders that merge loops compute all terms and choose by predicates which of them to
// add: mergeby(i,Predicated).
type Predicate struct{ Var string }

func (o Predicate) String() string { return fmt.Sprintf("mergeby(%s,Predicated)", o.Var) }

func (o Predicate) follow(f *facts, v *Value) error {
	x := f.loweredVar(o.Var)
	if _, ok := f.predicated()[x]; !ok {
		return fmt.Errorf(
			"no loop over %s has as its body a sum of floats in which each term depends on one operand",
			o.Var)
	}
	if v.Predicated == nil {
		v.Predicated = map[string]string{}
	}
	v.Predicated[x] = soOrdered
	delete(v.Windowed, x)
	return nil
}

// MergeWindows orders that merge loops that append a sum of segments sort windows of the segments'
// coordinates, and that other merge loops are predicated: mergeby(i,Windows).
type MergeWindows struct{ Var string }

func (o MergeWindows) String() string { return fmt.Sprintf("mergeby(%s,Windows)", o.Var) }

func (o MergeWindows) follow(f *facts, v *Value) error {
	if err := Predicate(o).follow(f, v); err != nil {
		return err
	}
	if v.Windowed == nil {
		v.Windowed = map[string]string{}
	}
	v.Windowed[f.loweredVar(o.Var)] = soOrdered
	return nil
}

// Unite orders that merge loops have one body for all cases of present operands:
// mergeby(i,OneBody).
type Unite struct{ Var string }

func (o Unite) String() string { return fmt.Sprintf("mergeby(%s,OneBody)", o.Var) }

func (o Unite) follow(f *facts, v *Value) error {
	x, found := f.loweredVar(o.Var), false
	f.merges(f.stmt, scope{}, func(u string, _ int) { found = found || u == x })
	if !found {
		return fmt.Errorf("no loop over %s steps through several operands", o.Var)
	}
	v.OneBody[x] = soOrdered
	return nil
}

// filledTogether returns the loop whose chunks fill the named workspace together, each in its own
// places, or nil if there is none.
func (f *facts) filledTogether(v *Value, name string) *cin.Forall {
	for _, l := range f.parallel() {
		if cin.Target(l).Name == name && l.Race == cin.Unsaid && v.Of(l).Cut.How == Blocks {
			return l
		}
	}
	return nil
}

// Workspace orders how a workspace is stored: workspace(W,KIND).
type Workspace struct {
	Name string
	Kind Kind
}

func (o Workspace) String() string { return fmt.Sprintf("workspace(%s,%s)", o.Name, o.Kind) }

// KindByName is the inverse of Kind.String.
func KindByName(name string) (Kind, bool) {
	for k, text := range kindNames {
		if text == name {
			return Kind(k), true
		}
	}
	return 0, false
}

func (o Workspace) follow(f *facts, v *Value) error {
	s, ok := v.Spaces[o.Name]
	if !ok {
		return fmt.Errorf("the statement has no workspace %s over index variables", o.Name)
	}
	if s.Multiplied && o.Kind != Array {
		return fmt.Errorf("%s, and one of them is %s", gemmNeedsArrays, o.Name)
	}
	s.Why, s.Said = soOrdered, true
	var err error
	eachWorkspace(f.stmt, func(t *cin.Access, w *cin.Where) {
		if t.Name != o.Name {
			return
		}
		producer := w.Producer
		s.Form = Form{Kind: o.Kind, Rows: f.byRows(t)}
		switch o.Kind {
		case HashTable:
			s.Form = f.hashTable(producer, t)
		case MarkedList, Bitmap, Marks:
			s.Form.Rows = s.Form.Rows || o.Kind == Marks && len(t.Vars) > 1
			if n := f.places(t.Vars); n > MaxPlaces {
				err = fmt.Errorf("a place for every coordinate is for at most %d coordinates; %s has %.4g",
					MaxPlaces, t.Key(), n)
			}
		case Array:
			err = f.asArray(producer, t)
		case SortedList:
			ok, once := f.inOrder(producer, t)
			s.Form.Once = once
			if !ok {
				err = fmt.Errorf("%s is not filled in the order of its variables", t.Key())
			}
		case Positions:
			s.Form, err = f.positional(w, t)
		case Terms:
			if form, _, ok := f.termRows(w, t); ok {
				s.Form = form
			} else if _, ok := f.terms(producer, t); ok {
				s.Form.Of = f.allTermsOf(producer, t)
			} else {
				err = fmt.Errorf(
					"a list of all values that are added to %s needs values that are entries of one operand times dense operands, and this is another sum", t.Key())
			}
		}
	})
	if err != nil {
		return err
	}
	if l := f.filledTogether(v, o.Name); l != nil && !s.shared() {
		return fmt.Errorf(
			"threads fill %s together by chunks of the loop over %s, which takes an array, or marks at its places", o.Name, l.Var)
	}
	if o.Kind != Positions && f.isCutApart(o.Name) {
		return fmt.Errorf(
			"%s is filled and read by loops that are cut in different ways, which a place for each position allows", o.Name)
	}
	v.Spaces[o.Name] = s
	return nil
}
