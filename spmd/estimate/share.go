package estimate

import (
	"math"
	"slices"

	"distaff/io/tensor"
)

// Share returns the density of the tensor's projection onto some modes: the fraction of the
// coordinate tuples of these modes for which the tensor has an entry. It uses the numbers of
// positions of outer levels if they are known, and assumes that entries are spread evenly.
func (t *Tensor) Share(modes []int) float64 {
	inner := t.lastCrd() + 1 // the pattern does not depend on levels from here on
	if inner == 0 {
		return 1
	}
	known, need := -1, 0
	for n, m := range t.Layout.Format.Order[:inner] {
		if slices.Contains(modes, m) {
			known, need = -1, n+1
		}
		if known < 0 && t.nonEmpty(n+1) >= 0 {
			known = n + 1
		}
	}
	if need == 0 {
		return 1
	}
	upTo, entries := len(t.Layout.Format.Order), t.Entries
	if known > 0 {
		upTo, entries = known, t.nonEmpty(known)
	}
	places, summed := 1.0, 1.0
	for n, m := range t.Layout.Format.Order[:upTo] {
		if places *= float64(t.Layout.Dims[m]); n >= inner || !slices.Contains(modes, m) {
			summed *= float64(t.Layout.Dims[m])
		}
	}
	if places == 0 {
		return 1
	}
	return anyOf(min(1, entries/places), summed)
}

// anyOf returns the share of groups with at least one entry, if each group has n coordinates and a
// share d of all coordinates have an entry.
func anyOf(d, n float64) float64 {
	if d >= 1 || n == 1 {
		return d
	}
	return -math.Expm1(n * math.Log1p(-d))
}

// lastCrd returns the last level that is not dense, or -1 if all are dense.
func (t *Tensor) lastCrd() int {
	for l := len(t.Layout.Format.Levels) - 1; l >= 0; l-- {
		if t.Layout.Format.Levels[l].HasCrd() {
			return l
		}
	}
	return -1
}

// nonEmpty returns how many positions of the first n levels have an entry below. It returns -1 if
// that is unknown.
func (t *Tensor) nonEmpty(n int) float64 {
	if t.levels == nil || n == 0 || t.repeats(n) {
		return -1
	}
	if t.Layout.Format.Levels[n-1].HasCrd() {
		return t.levels[n-1]
	}
	if st := t.Segments(); n < len(t.Layout.Format.Levels) && n < len(st) &&
		t.Layout.Format.Levels[n].Form() == tensor.Segmented {
		return t.levels[n-1] - float64(st[n].Empty)
	}
	return -1
}

// repeats reports whether several positions of the first n levels may have the same coordinates.
func (t *Tensor) repeats(n int) bool {
	for _, k := range t.Layout.Format.Levels[:n] {
		if !tensor.Kind(k).IsUnique() {
			return true
		}
	}
	return false
}

// Pattern describes where a tensor that does not exist yet will have entries.
type Pattern struct {
	// Share returns the density of the projection onto some modes; see Tensor.Share.
	Share func(modes []int) float64
	// Filled has an element for each mode. It is true if the coordinate in this mode never decides
	// if there is an entry: for each choice of coordinates in the other modes, the tensor has
	// entries at all coordinates of the mode or at none.
	Filled []bool
}

// filled reports whether the coordinate in mode m never decides if there is an entry: for each
// choice of coordinates in the other modes, the tensor has entries at all coordinates of m or at
// none. It returns false if t has no Pattern.
func (t *Tensor) filled(m int) bool { return t.Pattern != nil && t.Pattern.Filled[m] }

// cut is a box of a tensor down to one of its levels, which is called the current level. Deeper
// levels are ignored.
type cut struct {
	part func(m int) float64 // share of the coordinates of mode m
	// share of the coordinates of the levels down to the current one
	outer float64
	// share of the coordinates of the levels down to the last compressed one
	share float64
	// upper bound of the number of coordinates of the levels down to the current one
	places float64
}

// wholeAt returns the whole tensor down to level l, as a cut whose current level is l.
func (t *Tensor) wholeAt(l int) cut {
	c := cut{part: func(int) float64 { return 1 }, outer: 1, share: 1, places: 1}
	for _, m := range t.Layout.Format.Order[:l+1] {
		c.places *= float64(t.Layout.Dims[m])
	}
	return c
}

// fromPattern estimates the number of positions of level l in box c, for a tensor with a pattern.
// Some modes are filled: entries exist at all coordinates of the mode or at none (see filled). A
// filled mode therefore multiplies the number by the mode's extent in the box.
func (t *Tensor) fromPattern(l int, c cut) counted {
	all, together := 1.0, 1.0
	for _, m := range t.Layout.Format.Order[:l+1] {
		all *= float64(t.Layout.Dims[m])
		if t.filled(m) {
			together *= float64(t.Layout.Dims[m]) * c.part(m)
		}
	}
	n := all * t.Pattern.Share(t.Layout.Format.Order[:l+1])
	if n == 0 || together == 0 {
		return counted{}
	}
	// entries below a position, and the share of their coordinates that is in the box
	each, inner := t.Entries/n, 1.0
	for k := l + 1; k < len(t.Layout.Format.Order); k++ {
		switch m := t.Layout.Format.Order[k]; {
		case t.filled(m):
			each /= math.Max(float64(t.Layout.Dims[m]), 1)
		case k <= t.lastCrd():
			inner *= c.part(m)
		}
	}
	about := n * c.outer
	if inner < 1 {
		about *= -math.Expm1(math.Max(each, 1) * math.Log1p(-math.Min(inner, 1-1e-12)))
	}
	return count(about/together, 0, c.places/together).times(together)
}
