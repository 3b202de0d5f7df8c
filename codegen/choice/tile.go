package choice

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Tile is the choice whether rows of the result are summed in registers, several values at a time.
// A schedule writes it as tile(i,N): the rows run along variable i, and N values are summed at a
// time.
var Tile = &Choice{
	Name:    "tile",
	Params:  []Param{{Kind: VarParam, Name: "i"}, {Kind: NumberParam, Name: "N", Least: 1}},
	Meaning: "sums N values of a row at a time in registers",
	CPUOnly: "rows are summed in registers of a CPU",
	Minor:   true,
	Default: defaultTile,
	Follow:  followTile,
}

func followTile(f *analysis.Facts, v *strategy.Value, o Order) error {
	x, found, _ := rowTiles(f, v)
	switch {
	case o.N < 2 || o.N > 2*maxTile:
		return fmt.Errorf("got tiles of %d values, want 2 to %d", o.N, 2*maxTile)
	case x != o.Loop.Var || len(found) == 0:
		return fmt.Errorf(
			"%s must be the last level, a dense one, of the result and of all tensors that "+
				"have it, with a loop over %[1]s itself inside loops that sum", o.Loop)
	}
	v.Row = strategy.Row{Var: x, Width: o.N}
	for _, s := range found {
		v.Tiles[s] = o.N
	}
	return nil
}

// defaultTile returns the instruction to sum rows in tiles, if this is worthwhile and a row does
// not have too many tiles.
func defaultTile(f *analysis.Facts, v *strategy.Value) []Chosen {
	x, _, pays := rowTiles(f, v)
	n := f.Problem.Sizes[x]
	width := Widest(n)
	if !pays || n > maxTile*maxTiles || width == 0 {
		return nil
	}
	return []Chosen{{Order: Order{N: width}.of(x),
		Why: fmt.Sprintf("rows of %d values, which are dense in all tensors with %s", n, x)}}
}

// maxTile is the largest number of values of a row that the default schedule sums in registers at a
// time. A command may ask for at most 2*maxTile values.
const maxTile = 32

// maxTiles is the largest number of tiles in a row by default. Longer rows are summed in memory,
// because each tile is a pass over the entries that are summed.
const maxTiles = 16

// Widest returns the width of tiles in a row of n values, or 0 if the row is too short.
func Widest(n int64) int64 {
	for width := int64(maxTile); width >= 4; width /= 2 {
		if width <= n {
			return width
		}
	}
	return 0
}

// tiles finds the statements that sum a row of the result. v is the variable of the result's last
// level, which is dense, so a row runs along v. Such a statement contains a loop over v. It is
// itself a loop over another variable, or a sequence. If v indexes an operand, v must index the
// operand's last level, and this level must be dense.
type tiles struct {
	facts *analysis.Facts
	v     string
	bound []string
	found []cin.Stmt
	value *strategy.Value // which has the cuts of loops on threads
	pays  bool            // tiles are worthwhile for at least one of the statements
}

// If the same row is visited several times, tiles are worthwhile only if a visit sums on average at
// least tileTerms values into each entry of the row. The reason is that each visit sets a tile to 0
// and then adds the tile to the row, which saves nothing for a single value.
const tileTerms = 1.5

// rowTiles returns the statements that can sum rows of the result tile by tile. v is the variable
// along these rows, or "" if the last level of the result is not dense. pays is true if tiles are
// expected to be faster than rows in memory for at least one of the statements.
func rowTiles(f *analysis.Facts, how *strategy.Value) (v string, found []cin.Stmt, pays bool) {
	if v = f.LastDense(); v == "" {
		return "", nil, false
	}
	t := &tiles{facts: f, v: v, value: how}
	t.find(f.Stmt, false)
	return v, t.found, t.pays
}

// paysFor reports whether summing the rows of s in tiles is worthwhile. If no loop around s visits
// a row again, tiles are worthwhile, because a row is then stored once, from registers. If a row is
// visited again, each visit must sum at least tileTerms values into an entry on average.
func (t *tiles) paysFor(s cin.Stmt) bool {
	again := slices.ContainsFunc(t.bound,
		func(v string) bool { return !slices.Contains(t.facts.Vars, v) })
	return !again || t.termsPerVisit(s) >= tileTerms
}

// termsPerVisit returns the average number of values that one run of s sums into an entry of a row.
// Each operand that is not dense gives an estimate: its average number of entries below one
// position of the levels whose variables are bound by loops around s. The largest estimate counts.
// termsPerVisit returns infinity if an operand's counts are unknown, or if all operands are dense.
func (t *tiles) termsPerVisit(s cin.Stmt) float64 {
	most := 0.0
	for _, x := range t.facts.Operands(s) {
		if x.Tensor.Format.AllDense() {
			continue
		}
		if x.Tensor.Counts == nil {
			return math.Inf(1)
		}
		above, below := int64(1), int64(1)
		for k, u := range x.Vars {
			switch {
			case u == t.v:
			case slices.Contains(t.bound, u):
				above, below = x.Tensor.Counts[k], x.Tensor.Counts[k]
			default:
				below = x.Tensor.Counts[k]
			}
		}
		most = max(most, float64(below)/float64(max(above, 1)))
	}
	if most == 0 {
		return math.Inf(1) // all operands are dense
	}
	return most
}

// sumsRow reports whether s sums a row of the result. s must contain a loop over the row's variable
// itself. If the schedule splits this loop, or replaces its variable by a bound command, the loop
// cannot run along a tile. s must not run on threads. If serial is true, the outermost loop of s
// may run on threads, because each thread then sums whole rows.
func (t *tiles) sumsRow(s cin.Stmt, serial bool) bool {
	k := len(t.facts.Vars) - 1
	for _, v := range t.facts.Vars[:k] {
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
	return t.facts.Assigns(s) && !holdsGemm(t.facts, s) && !slices.Contains(t.bound, t.v) &&
		isLastOfAll(t.facts, s, t.v) && !readsWholeRow(t.facts, s, t.v) && len(cin.Loops(s, t.v)) > 0 &&
		!repeatsTemporary(s, t.v)
}

// holdsGemm reports whether s contains loops that the default strategy runs as a matrix product.
func holdsGemm(f *analysis.Facts, s cin.Stmt) (found bool) {
	cin.Walk(s, func(s cin.Stmt) { found = found || isGemm(f, s) })
	return found
}

// repeatsTemporary reports whether s computes, in loops, a temporary that is not a row along v.
// Such a temporary is a scalar, or it has other variables or more variables than v. The rows of s
// can then not be summed in tiles. Either each tile would compute the temporary again, or the
// temporary is larger than a row.
func repeatsTemporary(s cin.Stmt, v string) (found bool) {
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			t := cin.Target(w.Producer)
			_, loop := w.Producer.(*cin.Forall)
			found = found || loop && (len(t.Vars) != 1 || t.Vars[0] != v)
		}
	})
	return found
}

// readsWholeRow reports whether s reads a workspace along v that it does not fill along v. Such a
// workspace is filled outside of s, or in loops over another variable. The read then needs the
// whole row, and not only one tile.
func readsWholeRow(f *analysis.Facts, s cin.Stmt, v string) (found bool) {
	filled := map[string][]string{}
	eachWorkspace(s, func(t *cin.Access, _ *cin.Where) { filled[t.Name] = t.Vars })
	cin.Accesses(s, func(a *cin.Access) {
		if k := slices.Index(a.Vars, v); k >= 0 && f.Tensor(a.Name) == nil {
			by := filled[a.Name]
			found = found || by == nil || by[k] != v
		}
	})
	return found
}

// find searches s for statements that sum rows, and adds them to t.found. serial is true if each
// thread that runs the outermost loop of s sums whole rows of its own. This loop then counts as
// serial.
func (t *tiles) find(s cin.Stmt, serial bool) {
	if !t.facts.Assigns(s) {
		return
	}
	if t.sumsRow(s, serial) {
		t.found = append(t.found, s)
		t.pays = t.pays || t.paysFor(s)
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
		if s.Unit == cin.CPUThread && !serial && analysis.IsSum(s) {
			if s.Race == cin.Atomics || s.Race == cin.Temporary || s.Race == cin.ParallelReduction {
				return // threads add to the same row, so a tile cannot be stored over it
			}
			switch t.value.Of(s).Cut.How {
			case cin.Whole, cin.Partial:
				t.find(s, true)
				return
			case cin.Rows:
				if len(t.facts.Vars) == 1 {
					return // each thread has a part of the row
				}
			}
		}
		t.bound = append(t.bound, s.Var)
		t.find(s.Body, false)
		t.bound = t.bound[:len(t.bound)-1]
	}
}
