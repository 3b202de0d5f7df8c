package codegen

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// tiles counts what the tiles of an operand's positions take that a loop goes over, where these are
// of several of its levels: each finds the coordinates that it begins with by a search in each
// level above, and cuts the segment that it begins in.
func (w *work) tiles(s *cin.Forall) {
	if w.relations == nil {
		return
	}
	r := w.relations.MadeBy(s.Var)
	if r == nil || r.Kind != provenance.Split && r.Kind != provenance.Divide || s.Var != r.To[0] {
		return
	}
	roots := w.relations.Underived(s.Var)
	counts := w.levelsOf(s.Body, w.relations.PositionsOf(r.From[0]), roots)
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
	w.moves.Ends += n * (1 + otherSteps)
	if s.Race == cin.Atomics { // to the segments that it begins and ends in
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

// otherSteps is how many steps of a search go another way than those of the tile before it, which
// began nearby: the last ones.
const otherSteps = 2

// levelsOf are the positions of the levels of the access called key down to the last of some
// variables; nil where there is none.
func (w *work) levelsOf(s cin.Stmt, key string, vars []string) (counts []float64) {
	cin.Accesses(s, func(a *cin.Access) {
		arg := w.arg(a.Name)
		if arg < 0 || a.Key() != key || counts != nil {
			return
		}
		for l := range w.upTo(arg, a, vars) + 1 {
			counts = append(counts, float64(w.extents.Counts[arg][l]))
		}
	})
	return counts
}
