package assemble

import (
	"slices"

	"distaff/spmd/partition"
)

// Region is a set of coordinates of a tensor. Box restricts each mode to a half-open range. From
// and To restrict the coordinates further: in storage order, a coordinate is at least From and less
// than To. From and To are keys. A key is a tuple of coordinates of the outermost levels. An empty
// key does not restrict the region.
type Region struct {
	Box      [][2]int64
	From, To []int64
}

// PiecesOf returns the pieces of a partitioned tensor with their owners. sizes are the sizes of the
// tensor's modes.
func PiecesOf(part *partition.Partition, sizes []int64) []Piece {
	list := make([]Piece, part.Pieces())
	for b := range list {
		n := partition.Piece(b)
		from, to := part.Keys(n)
		list[b] = Piece{part.OwnerOf(n), Region{part.Box(n, sizes), from, to}}
	}
	return list
}

// common returns the intersection of r and o, or false if it is empty. modes[l] is the mode of the
// tensor that level l stores.
//
// The result is in normal form: two regions with the same set of coordinates have equal fields. For
// this purpose the box is as small as possible. A key is nil if it excludes no coordinates of the
// box. Trailing coordinates of a key are removed if the shorter key bounds the same set.
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

// bound returns the part of a box that is between two keys, as a region in normal form. It returns
// false if the region is empty. It overwrites box.
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

// atLeast returns the first tuple of coordinates in the box that is not before key, or false if
// there is none.
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

// restart changes tuple t: at level l and all deeper levels, the coordinate becomes the first
// coordinate of its mode in box.
func restart(t []int64, l int, box [][2]int64, modes []int) {
	for ; l < len(t); l++ {
		t[l] = box[modes[l]][0]
	}
}

// before returns the last tuple of coordinates in the box that is before key, or false if there is
// none.
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

// end changes tuple t: at level l and all deeper levels, the coordinate becomes the last coordinate
// of its mode in box.
func end(t []int64, l int, box [][2]int64, modes []int) {
	for ; l < len(t); l++ {
		t[l] = box[modes[l]][1] - 1
	}
}

// equal reports whether two regions in normal form are the same.
func (r Region) equal(o Region) bool {
	return slices.Equal(r.Box, o.Box) && slices.Equal(r.From, o.From) && slices.Equal(r.To, o.To)
}

// coordinates returns the number of coordinates in the box.
func (r Region) coordinates() int64 {
	n := int64(1)
	for _, b := range r.Box {
		n *= b[1] - b[0]
	}
	return n
}

// edge describes how a path relates to the keys of a region. A path consists of the coordinates of
// the outermost levels. from is true if the path is a proper prefix of the region's key From. to is
// true if the path is a proper prefix of the key To.
type edge struct{ from, to bool }

// edge returns the edge of an empty path.
func (r Region) edge() edge { return edge{r.From != nil, r.To != nil} }

// open reports whether all coordinates below the path are between the keys.
func (e edge) open() bool { return !e.from && !e.to }

// span returns the range of coordinates that level l can have in the region, below the path that
// edge e describes. mode is the mode of level l.
func (r Region) span(l, mode int, e edge) (lo, hi int64) {
	lo, hi = r.Box[mode][0], r.Box[mode][1]
	if e.from {
		lo = max(lo, r.From[l])
	}
	if e.to {
		key := r.To[l]
		if l+1 < len(r.To) {
			key++ // the next coordinate of the key bounds the level below
		}
		hi = min(hi, key)
	}
	return lo, hi
}

// below returns the edge of a path that is one coordinate longer. e is the edge of the shorter
// path, and c is the coordinate of level l that follows it. c must be in the range that span
// returns for level l and edge e.
func (r Region) below(l int, c int64, e edge) edge {
	return edge{e.from && l+1 < len(r.From) && c == r.From[l],
		e.to && l+1 < len(r.To) && c == r.To[l]}
}
