package assemble

import (
	"slices"

	"distaff/spmd/partition"
)

// Region is some coordinates of a tensor: those in Box, of each mode a half-open range, and between
// two keys. A key is a tuple of coordinates of the outermost levels; the coordinates of the region
// are, in storage order, From or behind it and before To. A key without coordinates bounds nothing.
type Region struct {
	Box      [][2]int64
	From, To []int64
}

// PiecesOf are the pieces of a tensor with modes of these sizes that is cut so, each at its owner.
func PiecesOf(part *partition.Partition, sizes []int64) []Piece {
	list := make([]Piece, part.Pieces())
	for b := range list {
		n := partition.Piece(b)
		from, to := part.Keys(n)
		list[b] = Piece{part.OwnerOf(n), Region{part.Box(n, sizes), from, to}}
	}
	return list
}

// common is what two regions have in common, of a tensor whose levels store these modes; false for
// nothing. It is in normal form, in which equal regions are equal: the box is the smallest one, and
// a key is nil where the box says as much, and has no coordinates at its end that say nothing.
func (r Region) common(o Region, modes []int) (Region, bool) {
	box := make([][2]int64, len(r.Box))
	for m := range box {
		box[m] = [2]int64{max(r.Box[m][0], o.Box[m][0]), min(r.Box[m][1], o.Box[m][1])}
		if box[m][0] >= box[m][1] {
			return Region{}, false
		}
	}
	from, to := r.From, r.To
	if slices.Compare(o.From, from) > 0 {
		from = o.From
	}
	if len(to) == 0 || len(o.To) > 0 && slices.Compare(o.To, to) < 0 {
		to = o.To
	}
	return bound(box, from, to, modes)
}

// bound is the region of a box, which it changes, between keys.
func bound(box [][2]int64, from, to []int64, modes []int) (Region, bool) {
	first, ok := atLeast(box, from, modes)
	if !ok {
		return Region{}, false
	}
	last, ok := before(box, to, modes)
	if n := min(len(first), len(last)); !ok || slices.Compare(first[:n], last[:n]) > 0 {
		return Region{}, false
	}
	for l := range max(len(first), len(last)) {
		r := &box[modes[l]]
		if l < len(first) {
			r[0] = first[l]
		}
		if l < len(last) {
			r[1] = last[l] + 1
		}
		if r[0]+1 < r[1] {
			break
		}
	}
	for n := len(first) - 1; n >= 0 && first[n] == box[modes[n]][0]; n-- {
		first = first[:n]
	}
	for n := len(last) - 1; n >= 0 && last[n] == box[modes[n]][1]-1; n-- {
		last = last[:n]
	}
	out := Region{Box: box}
	if len(first) > 0 {
		out.From = first
	}
	if len(last) > 0 {
		last[len(last)-1]++
		out.To = last
	}
	return out, true
}

// atLeast is the first tuple of coordinates of a box that is not before a key; false for none.
func atLeast(box [][2]int64, key []int64, modes []int) ([]int64, bool) {
	t := slices.Clone(key)
	for l, c := range key {
		r := box[modes[l]]
		if c < r[0] {
			restart(t, l, box, modes)
			return t, true
		}
		if c < r[1] {
			continue
		}
		for l--; l >= 0; l-- {
			if t[l]+1 < box[modes[l]][1] {
				t[l]++
				restart(t, l+1, box, modes)
				return t, true
			}
		}
		return nil, false
	}
	return t, true
}

// restart sets the coordinates of a tuple from level l on to the first of the box.
func restart(t []int64, l int, box [][2]int64, modes []int) {
	for ; l < len(t); l++ {
		t[l] = box[modes[l]][0]
	}
}

// before is the last tuple of coordinates of a box that is before a key; false for none.
func before(box [][2]int64, key []int64, modes []int) ([]int64, bool) {
	if len(key) == 0 {
		return nil, true
	}
	t := slices.Clone(key)
	l := 0
	for ; l < len(t); l++ {
		r := box[modes[l]]
		if t[l] >= r[1] {
			end(t, l, box, modes)
			return t, true
		}
		if t[l] < r[0] {
			break
		}
	}
	for l = min(l, len(t)-1); l >= 0; l-- {
		if t[l]-1 >= box[modes[l]][0] {
			t[l]--
			end(t, l+1, box, modes)
			return t, true
		}
	}
	return nil, false
}

// end sets the coordinates of a tuple from level l on to the last of the box.
func end(t []int64, l int, box [][2]int64, modes []int) {
	for ; l < len(t); l++ {
		t[l] = box[modes[l]][1] - 1
	}
}

// equal tells whether two regions in normal form are the same.
func (r Region) equal(o Region) bool {
	return slices.Equal(r.Box, o.Box) && slices.Equal(r.From, o.From) && slices.Equal(r.To, o.To)
}

// coordinates is the number of coordinates of the box.
func (r Region) coordinates() int64 {
	n := int64(1)
	for _, b := range r.Box {
		n *= b[1] - b[0]
	}
	return n
}

// edge is where a path of coordinates from the outermost level on lies in a region: at the
// coordinates of From so far, and of To.
type edge struct{ from, to bool }

// edge is that of no coordinates.
func (r Region) edge() edge { return edge{r.From != nil, r.To != nil} }

// open tells whether the path lies between the keys, whatever follows.
func (e edge) open() bool { return !e.from && !e.to }

// span is the range of coordinates that the region has in level l below a path.
func (r Region) span(l, mode int, e edge) (lo, hi int64) {
	lo, hi = r.Box[mode][0], r.Box[mode][1]
	if e.from {
		lo = max(lo, r.From[l])
	}
	if e.to {
		key := r.To[l]
		if l+1 < len(r.To) {
			key++ // below that coordinate, the key's next one bounds
		}
		hi = min(hi, key)
	}
	return lo, hi
}

// below is the edge of a path and a coordinate of level l, which is in its span.
func (r Region) below(l int, c int64, e edge) edge {
	return edge{e.from && l+1 < len(r.From) && c == r.From[l], e.to && l+1 < len(r.To) && c == r.To[l]}
}
