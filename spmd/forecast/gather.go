package forecast

import (
	"slices"

	"distaff/spmd/estimate"
	"distaff/spmd/plan"
)

// rows are the rows of a gathered operand among which are those that a rank reads, those that it
// has in memory, and which share of the first it reads at most: those of the coordinates of the
// operands that it is multiplied with. Where these are generated as bands that is known; of others
// each entry is taken to be of another row.
func (x *Forecast) rows(t *plan.Traffic, rank, operand int) (among, within [2]int64,
	share float64) {
	mode := x.tensors[operand].Layout.Format.Order[0]
	all := [2]int64{0, x.tensors[operand].Layout.Dims[mode]}
	if len(x.units) == 0 && x.refused == nil {
		x.units, _, x.refused = x.k.Units(x.like(), false)
	}
	by, bounding := x.k.Drivers(operand)
	within = all
	if r, _, banded := x.bands(t, rank, operand, bounding); banded && len(bounding) > 0 {
		within = r
	}
	if by == nil {
		return all, within, 1
	}
	among, entries, banded := x.bands(t, rank, operand, by)
	if banded {
		return among, within, 1
	}
	if among, ok := x.boxes(t, rank, operand, by); ok {
		return among, within, entries / float64(max(among[1]-among[0], 1))
	}
	return all, within, entries / float64(max(all[1], 1))
}

// boxes are the rows of a gathered operand that lie in the boxes of what a rank reads of some
// operands, where all of these have a dense level of the rows.
func (x *Forecast) boxes(t *plan.Traffic, rank, operand int, by []int) (rows [2]int64, ok bool) {
	o := &x.p.Operands[operand]
	mode := x.tensors[operand].Layout.Format.Order[0]
	rows = [2]int64{x.tensors[operand].Layout.Dims[mode], 0}
	for _, n := range by {
		s := x.tensors[n]
		m := slices.Index(x.p.Operands[n].Vars, o.Vars[mode])
		if s.Layout.Format.Levels[slices.Index(s.Layout.Format.Order, m)].HasCrd() {
			return rows, false
		}
		for _, needs := range t.Needs(rank, n) {
			for _, need := range needs {
				r := s.Box(plan.Block(need.Piece))[m]
				rows = [2]int64{min(rows[0], r[0]), max(rows[1], r[1])}
			}
		}
	}
	return [2]int64{min(rows[0], rows[1]), rows[1]}, true
}

// bands are the rows of a gathered operand that are coordinates of some operands which a rank
// reads, how many entries it reads of these, and whether all are generated as bands, so that the
// rows are known.
func (x *Forecast) bands(t *plan.Traffic, rank, operand int, by []int) (rows [2]int64,
	entries float64, banded bool) {
	o := &x.p.Operands[operand]
	mode := x.tensors[operand].Layout.Format.Order[0]
	size := x.tensors[operand].Layout.Dims[mode]
	rows, banded = [2]int64{size, 0}, true
	for _, n := range by {
		s := x.tensors[n]
		width, ok := int64(0), false
		if g := x.k.Reader.Sources[x.p.Operands[n].Tensor].Generated(); g != nil {
			width, ok = g.Band()
		}
		banded = banded && ok
		for _, needs := range t.Needs(rank, n) {
			for _, need := range needs {
				b := plan.Block(need.Piece)
				entries += float64(s.Block(b).Entries)
				r := bandRows(s, s.Box(b), o.Vars[mode], x.p.Operands[n].Vars, width)
				rows = [2]int64{min(rows[0], r[0]), max(rows[1], r[1])}
			}
		}
	}
	rows[0] = min(max(rows[0], 0), size)
	rows[1] = max(min(rows[1], size), rows[0])
	return rows, entries, banded
}

// bandRows are the coordinates of variable v within a band of a block's other coordinates.
func bandRows(s *estimate.Tensor, box [][2]int64, v string, vars []string,
	width int64) (r [2]int64) {
	first := true
	for m, cut := range box {
		lo, hi := cut[0], cut[1]
		if vars[m] != v {
			lo, hi = lo-width, hi+width
		}
		if first {
			r, first = [2]int64{lo, hi}, false
			continue
		}
		r = [2]int64{max(r[0], lo), min(r[1], hi)}
	}
	return r
}
