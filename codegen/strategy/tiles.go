package strategy

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/cin"
)

// maxTile is the number of values of a row that are summed at a time, in
// registers.
const maxTile = 32

// maxTiles is the number of tiles past which a row is summed in place: each
// tile is a pass over the entries that are summed.
const maxTiles = 16

// Widest is the width of tiles in a row of n values; 0 where it is too short.
func Widest(n int64) int64 {
	for width := int64(maxTile); width >= 4; width /= 2 {
		if width <= n {
			return width
		}
	}
	return 0
}

// tiles finds the statements that sum a row of the result, its dense last level:
// those that loop over something else than that level's variable v, where
// v runs along the last, dense, level of everything that has it.
type tiles struct {
	facts *facts
	v     string
	bound []string
	found []int
	cuts  map[int]Loop
	pays  bool // for one of them at least
}

// tileTerms is how many values are summed into a row each time that a loop comes to it, on the
// average, from which on tiles pay for rows that it comes to several times: a tile is set to 0 and
// added to the row each time, and of one value neither saves anything.
const tileTerms = 1.5

// rowTiles are the statements whose rows can be summed in tiles, and whether that pays.
func (f *facts) rowTiles(loops map[int]Loop) (v string, found []int, pays bool) {
	k := len(f.vars) - 1
	if k < 0 || k <= f.deep {
		return "", nil, false
	}
	t := &tiles{facts: f, v: f.vars[k], cuts: loops}
	t.find(f.stmt, false)
	return t.v, t.found, t.pays
}

// worth tells whether to sum the rows of s in tiles pays. A row that no loop outside of s comes to
// again is stored once, out of registers.
func (t *tiles) worth(s cin.Stmt) bool {
	again := slices.ContainsFunc(t.bound,
		func(v string) bool { return !slices.Contains(t.facts.vars, v) })
	return !again || t.each(s) >= tileTerms
}

// each is how many values are summed into a row each time that s is run, on the average: the
// entries below a position of the levels that are bound, of the operand where these are the most.
// It is infinite where that is not known.
func (t *tiles) each(s cin.Stmt) float64 {
	most := 0.0
	cin.Accesses(s, func(a *cin.Access) {
		op := t.facts.tensor(a.Name)
		if op == nil || op.Format.AllDense() {
			return
		}
		if op.Counts == nil {
			most = math.Inf(1)
			return
		}
		above, below := int64(1), int64(1)
		for k, u := range op.levels(a) {
			switch {
			case u == t.v:
			case slices.Contains(t.bound, u):
				above, below = op.Counts[k], op.Counts[k]
			default:
				below = op.Counts[k]
			}
		}
		most = max(most, float64(below)/float64(max(above, 1)))
	})
	if most == 0 {
		return math.Inf(1) // dense operands alone
	}
	return most
}

// here tells whether s sums a row; serial says that its outermost loop runs in order,
// though it is marked to run on threads.
func (t *tiles) here(s cin.Stmt, serial bool) bool {
	k := len(t.facts.vars) - 1
	for _, v := range t.facts.vars[:k] {
		if !slices.Contains(t.bound, v) {
			return false
		}
	}
	switch s := s.(type) {
	case *cin.Forall:
		if s.Var == t.v || !serial && s.Unit == cin.CPUThread || cin.Threaded(s.Body) {
			return false
		}
	case *cin.Seq:
		if cin.Threaded(s) {
			return false
		}
	default:
		return false
	}
	return t.facts.assigns(s) && !t.facts.holdsGemm(s) && !slices.Contains(t.bound, t.v) &&
		t.facts.lastOfAll(s, t.v) && !t.facts.gathered(s, t.v) && loops(s, t.v) && !repeated(s, t.v)
}

// holdsGemm tells whether a product of matrices is made of loops in s.
func (f *facts) holdsGemm(s cin.Stmt) (found bool) {
	cin.Walk(s, func(s cin.Stmt) { found = found || f.gemm(s) })
	return found
}

// repeated tells whether s computes something that each tile of a row along v would compute again,
// or that is more than a row: a temporary in loops, without v or with other variables.
func repeated(s cin.Stmt, v string) (found bool) {
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			t := cin.Target(w.Producer)
			_, loop := w.Producer.(*cin.Forall)
			found = found || loop && (len(t.Vars) != 1 || t.Vars[0] != v)
		}
	})
	return found
}

// gathered tells whether v goes in s through what was added to a workspace elsewhere, or by loops
// over another variable: through all of that, and not through a tile's part.
func (f *facts) gathered(s cin.Stmt, v string) (found bool) {
	filled := map[string][]string{}
	eachWorkspace(s, func(t *cin.Access, _ *cin.Where) { filled[t.Name] = t.Vars })
	cin.Accesses(s, func(a *cin.Access) {
		if k := slices.Index(a.Vars, v); k >= 0 && f.tensor(a.Name) == nil {
			by := filled[a.Name]
			found = found || by == nil || by[k] != v
		}
	})
	return found
}

// loops tells whether s has a loop over v itself: one that commands have cut, or that a
// bound has given a length, is not along what a tile leaves of the row.
func loops(s cin.Stmt, v string) bool {
	found := false
	cin.Walk(s, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		found = found || ok && f.Var == v
	})
	return found
}

// find goes through s, whose outermost loop is a chunk's if serial says so.
func (t *tiles) find(s cin.Stmt, serial bool) {
	if !t.facts.assigns(s) {
		return
	}
	if t.here(s, serial) {
		t.found = append(t.found, t.facts.numbers[s])
		t.pays = t.pays || t.worth(s)
		return
	}
	switch s := s.(type) {
	case *cin.Where:
		t.find(s.Consumer, serial)
	case *cin.Seq:
		for _, u := range s.List {
			t.find(u, serial)
		}
	case *cin.Forall:
		if s.Unit == cin.CPUThread && !serial && sums(s) {
			if s.Race == cin.Atomics || s.Race == cin.Temporary || s.Race == cin.ParallelReduction {
				return // threads add to one row, which a tile would be stored over
			}
			switch t.cuts[t.facts.numbers[s]].Cut.How {
			case Whole, Partial:
				t.find(s, true)
				return
			case Rows:
				if len(t.facts.vars) == 1 {
					return // each thread has a part of the row
				}
			}
		}
		t.bound = append(t.bound, s.Var)
		t.find(s.Body, false)
		t.bound = t.bound[:len(t.bound)-1]
	}
}

// row chooses the width of tiles.
func (f *facts) row(v string) Row {
	n := f.problem.Sizes[v]
	if n > maxTile*maxTiles {
		return Row{}
	}
	width := Widest(n)
	return Row{Var: v, Width: width,
		Why: fmt.Sprintf("rows of %d values, dense in all that has %s", n, v)}
}
