package partition

import (
	"slices"
	"sort"

	"distaff/codegen/place"
)

// Located tells whether the ranges are known: always, but of an ordered axis, whose keys come from
// the tensor's entries, and of its images.
func (a *Axis) Located() bool {
	if a.Image != nil {
		return a.Image.Of.Located()
	}
	return a.Ordered == nil || a.Keys != nil
}

// Range is the number of the range of an ordered axis that holds a tuple of coordinates of its
// modes.
func (a *Axis) Range(key []int64) int64 {
	last := len(a.Keys) - 2
	return int64(sort.Search(last, func(k int) bool { return slices.Compare(key, a.Keys[k+1]) < 0 }))
}

// Ordered is the ordered axis of the partition, of which it has one at most; nil for none.
func (p *Partition) Ordered() *Axis {
	for k := range p.Axes {
		if p.Axes[k].Ordered != nil {
			return &p.Axes[k]
		}
	}
	return nil
}

// Given tells whether all pieces are known whatever the tensor's entries are.
func (p *Partition) Given() bool {
	return !slices.ContainsFunc(p.Axes,
		func(a Axis) bool { return a.Ordered != nil || a.Image != nil })
}

// Located tells whether all pieces are known.
func (p *Partition) Located() bool {
	return !slices.ContainsFunc(p.Axes, func(a Axis) bool { return !a.Located() })
}

// Guess locates an ordered axis, of a tensor of these sizes and about so many entries, as if these
// were spread evenly.
func (a *Axis) Guess(dims []int64, entries float64) {
	of := make([]int64, len(a.Modes))
	for k, m := range a.Modes {
		of[k] = dims[m]
	}
	a.Keys, a.Guessed, a.Entries = a.Ordered.Even(of), true, entries
}

// GuessedIn is the axis, of p or of a partition whose parts those of p are images of, that cuts
// mode m and is located by a guess; nil for none.
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

// Guessed tells whether some pieces are known by a guess alone.
func (p *Partition) Guessed() bool {
	return slices.ContainsFunc(p.Axes,
		func(a Axis) bool { return a.Guessed || a.Image != nil && a.Image.Of.Guessed })
}

// Keys are those between which piece b lies along its ordered axis: its tuples begin at from, and
// come before to; nil is open.
func (p *Partition) Keys(b Piece) (from, to []int64) {
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

// bound sets the ranges of the axis's modes in a box to those of range i.
func (a *Axis) bound(i int64, sizes []int64, box [][2]int64) {
	own := make([]int64, len(a.Modes))
	for k, m := range a.Modes {
		own[k] = sizes[m]
	}
	for k, r := range a.Bounds(i, own) {
		box[a.Modes[k]] = r
	}
}

// Bounds is the smallest box that holds the tuples of range i of an ordered axis, in the order of
// its modes, which have these sizes; before the axis is located, that of an even cut of the first.
func (a *Axis) Bounds(i int64, own []int64) [][2]int64 {
	if a.Keys != nil && !a.Wide {
		return Bounds(a.Keys[i], a.Keys[i+1], own)
	}
	box := make([][2]int64, len(own))
	for k, n := range own {
		box[k] = [2]int64{0, n}
	}
	if !a.Wide {
		n := a.Ranges()
		box[0] = [2]int64{place.EvenCut(own[0], n, i), place.EvenCut(own[0], n, i+1)}
	}
	return box
}

// Bounds is the smallest box, of the modes of the keys, that holds the tuples of coordinates below
// these sizes from lo on and before hi; nil is open. A box of none is empty in its first mode.
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

// Boxes are disjoint boxes, of the modes of the keys, that together are the tuples of coordinates
// below these sizes from lo on and before hi, in order; nil is open.
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

// Regions are disjoint boxes that together are the tuples of coordinates in a box of all modes that
// lie between two keys of the modes order[0], order[1] and so on: the box itself where both are
// open.
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

// boxing makes the list of Boxes.
type boxing struct {
	sizes []int64
	box   [][2]int64 // of the modes so far
	list  [][][2]int64
}

// add adds the boxes of what lies from first to last, both with them, which agree in the modes
// before k.
func (x *boxing) add(k int, first, last []int64) {
	if k == len(x.sizes) {
		x.list = append(x.list, slices.Clone(x.box))
		return
	}
	least, most := make([]int64, len(x.sizes)), make([]int64, len(x.sizes))
	for j, n := range x.sizes {
		most[j] = n - 1
	}
	a, b := first[k], last[k]
	if a == b {
		x.box[k] = [2]int64{a, a + 1}
		x.add(k+1, first, last)
		return
	}
	if !slices.Equal(first[k+1:], least[k+1:]) {
		x.box[k] = [2]int64{a, a + 1}
		x.add(k+1, first, most)
		a++
	}
	open := !slices.Equal(last[k+1:], most[k+1:])
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
		x.add(k+1, least, last)
	}
}

// firstFrom is the first tuple below the sizes from a key on; false where there is none.
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

// lastBefore is the last tuple below the sizes before a key; false where there is none.
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
