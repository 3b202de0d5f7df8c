package forecast

import (
	"slices"

	"distaff/spmd/estimate"
	"distaff/spmd/plan"
	"distaff/spmd/prepared/gathered"
)

// rows predicts which rows of a gathered operand a rank reads. All of these rows are in the range
// `among`, and they are at most the fraction `share` of the rows in this range. All rows that the
// rank has in memory are in the range `within`.
//
// The rows are coordinates of the operands that the gathered operand is multiplied with. If these
// operands are generated as bands, rows assumes that the rank reads all rows that the bands can
// contain. Otherwise it assumes that each entry needs a different row. If all rows are needed,
// `among` is the range of all rows and `share` is 1.
func (x *Forecast) rows(t *plan.Traffic, rank, operand int) (among, within [2]int64,
	share float64) {
	mode := x.tensors[operand].Layout.Format.Order[0]
	all := [2]int64{0, x.tensors[operand].Layout.Dims[mode]}
	if len(x.units) == 0 && x.refused == nil {
		x.units, _, x.refused = x.code.Units(x.like(), false)
	}
	q := &gathered.Query{Problem: x.p, Formats: x.k.Reader.Formats, Units: x.units}
	by, bounding := q.Drivers(operand)
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

// boxes returns a range that contains all rows of a gathered operand that a rank can need. factors
// lists the numbers of other operands. The range is computed from the boxes of the blocks that the
// rank reads of these operands. ok is false if one of these operands stores coordinates for the
// rows.
func (x *Forecast) boxes(t *plan.Traffic, rank, operand int, factors []int) (rows [2]int64,
	ok bool) {
	o := &x.p.Operands[operand]
	mode := x.tensors[operand].Layout.Format.Order[0]
	rows = [2]int64{x.tensors[operand].Layout.Dims[mode], 0}
	for _, n := range factors {
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

// bands predicts which rows of a gathered operand a rank needs. factors lists the numbers of other
// operands, and the rank reads entries of these operands. rows is a range that contains the rows
// that the entries need. entries is the number of the entries. banded is true if all operands in
// factors are generated as bands. If banded is false, rows must not be used.
func (x *Forecast) bands(t *plan.Traffic, rank, operand int, factors []int) (rows [2]int64,
	entries float64, banded bool) {
	o := &x.p.Operands[operand]
	mode := x.tensors[operand].Layout.Format.Order[0]
	size := x.tensors[operand].Layout.Dims[mode]
	rows, banded = [2]int64{size, 0}, true
	for _, n := range factors {
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
				r := bandRange(s, s.Box(b), o.Vars[mode], x.p.Operands[n].Vars, width)
				rows = [2]int64{min(rows[0], r[0]), max(rows[1], r[1])}
			}
		}
	}
	rows[0] = min(max(rows[0], 0), size)
	rows[1] = max(min(rows[1], size), rows[0])
	return rows, entries, banded
}

// bandRange returns the range of values that variable v can have in the entries of a block of a
// banded tensor. box is the box of the block, and vars lists the variables of the tensor's modes.
// In each entry, v differs by at most width from the coordinates in the other modes.
func bandRange(s *estimate.Tensor, box [][2]int64, v string, vars []string,
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
