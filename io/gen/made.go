package gen

import (
	"iter"
	"math/bits"
	"slices"
	"sort"

	"distaff/io/tensor"
)

// Pick returns the kind of a tensor that has a 1 at each coordinate (v, ..., at) with
//
//	at = first + coef[0]*v[0] + coef[1]*v[1] + ...
//
// and no other entries. The tensor has one mode more than coef has elements.
func Pick(coef []int64, first int64) *Kind {
	return &Kind{name: "pick", coef: coef, first: first, integer: true}
}

// Rest returns the kind of a tensor that has a 1 at each coordinate (v, ..., at) that a pick does
// not have for any value of some of its variables. coef[k] belongs to a variable of the pick: to
// mode mode[k] of the rest, or to a variable without a mode, of size sizes[k], if mode[k] is -1.
func Rest(coef []int64, first int64, mode []int, sizes []int64) *Kind {
	k := &Kind{name: "rest", first: first, integer: true, hidden: []int64{0}}
	for n, c := range coef {
		if m := mode[n]; m >= 0 {
			k.coef = append(k.coef, make([]int64, max(m+1-len(k.coef), 0))...)
			k.coef[m] = c
			continue
		}
		var sums []int64
		for v := range sizes[n] {
			for _, h := range k.hidden {
				sums = append(sums, h+c*v)
			}
		}
		k.hidden = sums
	}
	slices.Sort(k.hidden)
	return k
}

// Coordinates returns the kind of a vector whose values are its coordinates.
func Coordinates() *Kind { return &Kind{name: "coordinates", integer: true} }

// made reports whether the values follow from the coordinates, without random numbers.
func (k *Kind) made() bool {
	return k.name == "pick" || k.name == "rest" || k.name == "coordinates"
}

// madeValue returns the value of an entry whose last coordinate is last.
func (g *Generator) madeValue(last int64) tensor.Value {
	if g.Kind.name != "coordinates" {
		last = 1
	}
	v := tensor.Value{Type: g.typ}
	if g.typ.HoldsInts() {
		v.I = last
	} else {
		v.C = complex(float64(last), 0)
	}
	return v
}

// picks yields the coordinates of a pick whose mode 0 is in [lo, hi), in order.
func (g *Generator) picks(at []int64, lo, hi int64, yield func([]int64) bool) {
	last := len(at) - 1
	if last == 0 {
		if c := g.Kind.first; lo <= c && c < hi {
			at[0] = c
			yield(at)
		}
		return
	}
	for p := range points(at[:last], g.dims, lo, hi) {
		c, ok := g.Kind.at(p)
		if at[last] = c; ok && c >= 0 && c < g.dims[last] && !yield(at) {
			return
		}
	}
}

// rest yields the coordinates of a rest whose mode 0 is in [lo, hi), in order.
func (g *Generator) rest(at []int64, lo, hi int64, yield func([]int64) bool) {
	last := len(at) - 1
	of := func(p []int64, lo, hi int64) bool {
		base, ok := g.Kind.at(p)
		next := sort.Search(len(g.Kind.hidden), func(n int) bool { return g.Kind.hidden[n]+base >= lo })
		for c := lo; c < hi; c++ {
			for next < len(g.Kind.hidden) && g.Kind.hidden[next]+base < c {
				next++
			}
			if ok && next < len(g.Kind.hidden) && g.Kind.hidden[next]+base == c {
				continue
			}
			if at[last] = c; !yield(at) {
				return false
			}
		}
		return true
	}
	if last == 0 {
		of(nil, lo, hi)
		return
	}
	for p := range points(at[:last], g.dims, lo, hi) {
		if !of(p, 0, g.dims[last]) {
			return
		}
	}
}

// points yields all coordinates in the order of the modes. Mode 0 is in [lo, hi). It yields at.
func points(at, dims []int64, lo, hi int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		var walk func(m int) bool
		walk = func(m int) bool {
			if m == len(at) {
				return yield(at)
			}
			first, end := int64(0), dims[m]
			if m == 0 {
				first, end = lo, hi
			}
			for at[m] = first; at[m] < end; at[m]++ {
				if !walk(m + 1) {
					return false
				}
			}
			return true
		}
		walk(0)
	}
}

// at returns the coordinate that the pick selects at the other coordinates. It returns false if the
// coordinate does not fit an int64.
func (k *Kind) at(of []int64) (int64, bool) {
	c, fits := k.first, true
	for m, x := range of[:min(len(of), len(k.coef))] {
		hi, lo := bits.Mul64(magnitude(k.coef[m]), uint64(x))
		fits = fits && hi == 0 && lo < 1<<62
		term := int64(lo)
		if k.coef[m] < 0 {
			term = -term
		}
		sum := c + term
		fits = fits && (sum > c) == (term > 0)
		c = sum
	}
	return c, fits
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}

// pickEntries returns the largest number of entries of a pick with the given sizes.
func pickEntries(dims []int64) float64 {
	n := 1.0
	for _, d := range dims[:len(dims)-1] {
		n *= float64(d)
	}
	return n
}
