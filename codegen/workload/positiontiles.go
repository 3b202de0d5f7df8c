package workload

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// positionTiles counts the overhead of a loop over tiles of an operand's positions, if the
// positions combine several levels. Each tile finds its first coordinates by a binary search in
// each level above the last. It also begins inside a segment, which it processes only in part.
func (w *opCounter) positionTiles(s *cin.Forall) {
	if w.relations == nil {
		return
	}
	r := w.relations.MadeBy(s.Var)
	if r == nil || r.Kind != provenance.Split && r.Kind != provenance.Divide || s.Var != r.To[0] {
		return
	}
	roots := w.relations.Underived(s.Var)
	counts := w.positionsDownTo(s.Body, w.relations.PositionsOf(r.From[0]), roots)
	if len(counts) < 2 {
		return
	}
	n, steps := float64(r.N), 0.0
	above, positions := counts[len(counts)-2], counts[len(counts)-1]
	if r.Kind == provenance.Split {
		n = math.Ceil(positions / n)
	}
	for _, c := range counts[:len(counts)-1] {
		steps += math.Log2(max(c, 1))
	}
	w.moves.Searches += n * steps
	w.moves.Enters += n
	w.moves.Ends += n * (1 + newSearchSteps)
	if s.Race == cin.Atomics { // additions to the rows of a tile's first and last segment
		cin.Paths(s.Body, func(_ []*cin.Forall, a *cin.Assign) {
			if w.makes[a.LHS.Name] == nil {
				row := slices.DeleteFunc(slices.Clone(a.LHS.Vars),
					func(v string) bool { return slices.Contains(roots, v) })
				w.moves.Atomics += (n + min(n, above)) * w.space(row)
			}
		})
	}
	if s.Chunk > 0 {
		w.moves.Taken += n / float64(s.Chunk)
	}
}

// newSearchSteps is the assumed number of mispredicted branches in the binary search of one tile.
// The previous tile's search ended nearby. So the two searches differ only in their last steps, and
// the processor predicts the others.
const newSearchSteps = 2

// positionsDownTo returns the number of positions of each level of an operand, from the outermost
// level on. key is the key of the operand's access in s. The list ends before the first level whose
// variable is not in vars. It is nil if s has no such access.
func (w *opCounter) positionsDownTo(s cin.Stmt, key string, vars []string) (counts []float64) {
	cin.Accesses(s, func(a *cin.Access) {
		arg := w.arg(a.Name)
		if arg < 0 || a.Key() != key || counts != nil {
			return
		}
		for l := range w.lastBoundLevel(arg, a, vars) + 1 {
			counts = append(counts, float64(w.extents.Counts[arg][l]))
		}
	})
	return counts
}
