package partition

import (
	"slices"
	"sort"

	"distaff/codegen/place"
)

// Located reports whether the ranges are known. The ranges of an ordered axis and of its images are
// unknown until its keys are computed or guessed.
func (a *Axis) Located() bool {
	if a.Image != nil {
		return a.Image.Of.Located()
	}
	return a.Ordered == nil || a.Keys != nil
}

// Range returns the index of the range of an ordered axis that contains a tuple of coordinates. key
// is the tuple, in the order of the axis's modes.
func (a *Axis) Range(key []int64) int64 {
	last := len(a.Keys) - 2
	return int64(sort.Search(last, func(k int) bool { return slices.Compare(key, a.Keys[k+1]) < 0 }))
}

// Ordered returns the ordered axis of the partition, or nil. A partition has at most one.
func (p *Partition) Ordered() *Axis {
	for k := range p.Axes {
		if p.Axes[k].Ordered != nil {
			return &p.Axes[k]
		}
	}
	return nil
}

// IsPlain reports whether each axis is a plain axis. All pieces are then known without reading the
// tensor's entries.
func (p *Partition) IsPlain() bool {
	return !slices.ContainsFunc(p.Axes,
		func(a Axis) bool { return a.Ordered != nil || a.Image != nil })
}

// Located reports whether the boundaries of all pieces are known. The boundaries along an ordered
// axis are unknown until they are computed or guessed.
func (p *Partition) Located() bool {
	return !slices.ContainsFunc(p.Axes, func(a Axis) bool { return !a.Located() })
}

// Guess sets the keys of an ordered axis under the assumption that the entries are spread evenly.
// dims holds the sizes of the tensor's modes, and entries is the estimated number of its entries.
func (a *Axis) Guess(dims []int64, entries float64) {
	of := make([]int64, len(a.Modes))
	for k, m := range a.Modes {
		of[k] = dims[m]
	}
	a.Keys, a.Guessed, a.Entries = a.Ordered.Even(of), true, entries
}

// GuessedIn returns the axis whose guessed ranges determine how mode m is cut, or nil if the ranges
// of mode m are not guessed. This is an ordered axis of p. If the mode is cut by an image, it is
// the ordered axis of the other tensor.
func (p *Partition) GuessedIn(m int) *Axis {
	for k := range p.Axes {
		a := &p.Axes[k]
		if !slices.Contains(a.Modes, m) {
			continue
		}
		if a.Image != nil {
			a = a.Image.Of
		}
		if a.Guessed {
			return a
		}
	}
	return nil
}

// Guessed reports whether the boundaries of some pieces are estimates (see Axis.Guess), and were
// not computed from the tensor's entries.
func (p *Partition) Guessed() bool {
	return slices.ContainsFunc(p.Axes,
		func(a Axis) bool { return a.Guessed || a.Image != nil && a.Image.Of.Guessed })
}

// Keys returns the two keys that bound piece b along the ordered axis. The piece contains the
// tuples of coordinates t with lower <= t < upper. A nil key means that the piece is unbounded on
// that side.
func (p *Partition) Keys(b Piece) (lower, upper []int64) {
	for k := len(p.Axes) - 1; k >= 0; k-- {
		a := &p.Axes[k]
		i := int64(b) % a.Ranges()
		b /= Piece(a.Ranges())
		if a.Keys != nil {
			return a.Keys[i], a.Keys[i+1]
		}
	}
	return nil, nil
}

// bound sets the ranges of the axis's modes in box to the bounds of range i.
func (a *Axis) bound(i int64, sizes []int64, box [][2]int64) {
	own := make([]int64, len(a.Modes))
	for k, m := range a.Modes {
		own[k] = sizes[m]
	}
	for k, r := range a.Bounds(i, own) {
		box[a.Modes[k]] = r
	}
}

// Bounds returns the smallest box that contains the tuples of coordinates of range i of an ordered
// axis. The box has the axis's modes in their order, and sizes holds the sizes of these modes. If
// the axis's keys are not known yet, Bounds returns the box of range i of an even cut of the axis's
// first mode. If a.Wide is set, the box covers all coordinates.
func (a *Axis) Bounds(i int64, sizes []int64) [][2]int64 {
	if a.Keys != nil && !a.Wide {
		return Bounds(a.Keys[i], a.Keys[i+1], sizes)
	}
	box := make([][2]int64, len(sizes))
	for k, n := range sizes {
		box[k] = [2]int64{0, n}
	}
	if !a.Wide {
		n := a.Ranges()
		box[0] = [2]int64{place.EvenCut(sizes[0], n, i), place.EvenCut(sizes[0], n, i+1)}
	}
	return box
}

// Bounds returns the smallest box that contains all tuples of coordinates from lo inclusive to hi
// exclusive, in lexicographic order. Coordinates are below sizes. If lo or hi is nil, that side is
// not bounded. If no tuple exists, the first mode of the box is empty.
func Bounds(lo, hi []int64, sizes []int64) [][2]int64 {
	box := make([][2]int64, len(sizes))
	for k, n := range sizes {
		box[k] = [2]int64{0, n}
	}
	if len(sizes) == 0 {
		return box
	}
	first, ok := firstFrom(lo, sizes)
	last, before := lastBefore(hi, sizes)
	if !ok || !before || slices.Compare(first, last) > 0 {
		at := int64(0)
		if lo != nil {
			at = min(lo[0], sizes[0])
		}
		box[0] = [2]int64{at, at}
		return box
	}
	for k := range box {
		box[k] = [2]int64{first[k], last[k] + 1}
		if first[k] != last[k] {
			break
		}
	}
	return box
}

// Boxes returns disjoint boxes in lexicographic order. Together they contain exactly the tuples of
// coordinates t with lo <= t < hi, in lexicographic order. Each coordinate of a tuple is less than
// the size of its mode. A nil lo or hi leaves that side unbounded.
func Boxes(lo, hi []int64, sizes []int64) [][][2]int64 {
	first, ok := firstFrom(lo, sizes)
	last, before := lastBefore(hi, sizes)
	if !ok || !before || slices.Compare(first, last) > 0 {
		return nil
	}
	x := &boxing{sizes: sizes, box: make([][2]int64, len(sizes))}
	x.add(0, first, last)
	return x.list
}

// Regions returns disjoint boxes. Together they contain the tuples of coordinates of box from key
// `from` inclusive to key `to` exclusive. The keys are coordinates of modes order[0], order[1] and
// so on. A nil key leaves its side unbounded. If both keys are nil, the result is box itself. sizes
// holds the sizes of all modes.
func Regions(box [][2]int64, from, to []int64, order []int, sizes []int64) [][][2]int64 {
	n := max(len(from), len(to))
	if n == 0 {
		return [][][2]int64{box}
	}
	own := make([]int64, n)
	for k := range own {
		own[k] = sizes[order[k]]
	}
	var list [][][2]int64
	for _, part := range Boxes(from, to, own) {
		region := slices.Clone(box)
		for k, r := range part {
			m := order[k]
			lo := max(r[0], box[m][0])
			region[m] = [2]int64{lo, max(lo, min(r[1], box[m][1]))}
		}
		list = append(list, region)
	}
	return list
}

// boxing collects the list of Boxes.
type boxing struct {
	sizes []int64
	box   [][2]int64 // ranges of the first modes
	list  [][][2]int64
}

// add appends disjoint boxes to x.list. In the modes before k, the boxes have the ranges in x.box.
// In the modes from k on, the boxes together contain the tuples of coordinates from first to last,
// inclusive. The coordinates of first and last before k are not used.
func (x *boxing) add(k int, first, last []int64) {
	if k == len(x.sizes) {
		x.list = append(x.list, slices.Clone(x.box))
		return
	}
	zeros, ends := make([]int64, len(x.sizes)), make([]int64, len(x.sizes))
	for j, n := range x.sizes {
		ends[j] = n - 1
	}
	a, b := first[k], last[k]
	if a == b {
		x.box[k] = [2]int64{a, a + 1}
		x.add(k+1, first, last)
		return
	}
	if !slices.Equal(first[k+1:], zeros[k+1:]) {
		x.box[k] = [2]int64{a, a + 1}
		x.add(k+1, first, ends)
		a++
	}
	open := !slices.Equal(last[k+1:], ends[k+1:])
	if open {
		b--
	}
	if a <= b {
		x.box[k] = [2]int64{a, b + 1}
		for j := k + 1; j < len(x.sizes); j++ {
			x.box[j] = [2]int64{0, x.sizes[j]}
		}
		x.list = append(x.list, slices.Clone(x.box))
	}
	if open {
		x.box[k] = [2]int64{b + 1, b + 2}
		x.add(k+1, zeros, last)
	}
}

// firstFrom returns the first tuple of coordinates that is equal to key or comes after key. Each
// coordinate of the tuple is less than the size of its mode. If no tuple qualifies, firstFrom
// returns false. key may be shorter than sizes; its missing coordinates are then 0.
func firstFrom(key, sizes []int64) ([]int64, bool) {
	first := make([]int64, len(sizes))
	copy(first, key)
	for k := len(first) - 1; k >= 0; k-- {
		if sizes[k] == 0 {
			return nil, false
		}
		if first[k] < sizes[k] {
			continue
		}
		if k == 0 {
			return nil, false
		}
		first[k-1]++
		clear(first[k:])
	}
	return first, true
}

// lastBefore returns the last tuple of coordinates that comes before key in lexicographic order.
// Each coordinate of the tuple is less than the size of its mode. If there is no such tuple,
// lastBefore returns false. If key is nil, the result is the last of all tuples.
//
// If key is shorter than sizes, its missing coordinates are 0. A coordinate of key must not be
// larger than the size of its mode. It may be equal to the size only if all later coordinates are
// 0.
func lastBefore(key, sizes []int64) ([]int64, bool) {
	last := make([]int64, len(sizes))
	if key == nil {
		for k, n := range sizes {
			last[k] = n - 1
		}
		return last, !slices.Contains(sizes, 0)
	}
	copy(last, key)
	for k := len(last) - 1; k >= 0; k-- {
		if last[k] > 0 {
			last[k]--
			for j := k; j < len(last); j++ {
				if sizes[j] == 0 {
					return nil, false
				}
			}
			for j := k + 1; j < len(last); j++ {
				last[j] = sizes[j] - 1
			}
			return last, true
		}
	}
	return nil, false
}
