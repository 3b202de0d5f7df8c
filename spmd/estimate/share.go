package estimate

import (
	"math"
	"slices"

	"distaff/io/tensor"
)

// Share is the share of the coordinates of some modes at which the tensor has an entry, at any
// coordinates of the others. It is as levels tell, where their positions are known and the modes
// are those of outer ones; else entries are taken to be spread evenly.
func (t *Tensor) Share(modes []int) float64 {
	inner := t.lastCrd() + 1 // along the levels from here on it is filled everywhere or nowhere
	if inner == 0 {
		return 1
	}
	known, need := -1, 0
	for n, m := range t.Layout.Format.Order[:inner] {
		if slices.Contains(modes, m) {
			known, need = -1, n+1
		}
		if known < 0 && t.present(n+1) >= 0 {
			known = n + 1
		}
	}
	if need == 0 {
		return 1
	}
	upTo, entries := len(t.Layout.Format.Order), t.Entries
	if known > 0 {
		upTo, entries = known, t.present(known)
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
	return atSome(min(1, entries/places), summed)
}

// atSome is the share at which there is an entry at one of n coordinates at least, where there is
// one at a share of d.
func atSome(d, n float64) float64 {
	if d >= 1 || n == 1 {
		return d
	}
	return -math.Expm1(n * math.Log1p(-d))
}

// lastCrd is the last level that is not dense; -1 where all are.
func (t *Tensor) lastCrd() int {
	for l := len(t.Layout.Format.Levels) - 1; l >= 0; l-- {
		if t.Layout.Format.Levels[l].HasCrd() {
			return l
		}
	}
	return -1
}

// present is how many of the positions of the first n levels have an entry below, where levels
// tell; -1 where they do not.
func (t *Tensor) present(n int) float64 {
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

// repeats tells whether several positions of the first n levels may have the same coordinates.
func (t *Tensor) repeats(n int) bool {
	for _, k := range t.Layout.Format.Levels[:n] {
		if !tensor.Kind(k).IsUnique() {
			return true
		}
	}
	return false
}

// Pattern is where a tensor that is not there yet will have entries.
type Pattern struct {
	// Share is the share of the coordinates of some modes at which it has an entry, at any coordinates
	// of the others.
	Share func(modes []int) float64
	// Filled says of each mode whether it is filled along it everywhere or nowhere, at any coordinates
	// of the others.
	Filled []bool
}

// filled tells whether mode m is filled everywhere or nowhere.
func (t *Tensor) filled(m int) bool { return t.Pattern != nil && t.Pattern.Filled[m] }

// cut is a box of the tensor.
type cut struct {
	part  func(m int) float64 // the share of a mode's coordinates
	outer float64             // of the coordinates of the levels down to the one at hand
	// of those whose entries make paths down to the last level that is not dense
	share  float64
	places float64 // coordinates of the levels down to the one at hand
}

// uncut is the whole tensor, at level l.
func (t *Tensor) uncut(l int) cut {
	c := cut{part: func(int) float64 { return 1 }, outer: 1, share: 1, places: 1}
	for _, m := range t.Layout.Format.Order[:l+1] {
		c.places *= float64(t.Layout.Dims[m])
	}
	return c
}

// foreseen is how many positions level l of a tensor with a pattern has in a box. Those that lie
// side by side along modes which are filled everywhere or nowhere are there together.
func (t *Tensor) foreseen(l int, c cut) counted {
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
	// entries below a position, and the share of their coordinates that the box has
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
