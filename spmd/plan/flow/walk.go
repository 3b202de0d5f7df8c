package flow

import (
	"iter"
	"slices"

	"distaff/codegen/place"
)

// Walk is the points of a nest, distributed over ranks.
type Walk struct {
	Nest  *place.Nest
	Ranks int

	dims    []int64 // sizes of the machine
	extents []int64 // by loop, the number of its values
	spread  []int   // the distributed loops
	aligned bool
}

// NewWalk returns the walk over a nest. ranks is the number of ranks.
func NewWalk(n *place.Nest, ranks int) *Walk {
	w := &Walk{Nest: n, Ranks: ranks, dims: n.Machine.Dims()}
	for k, l := range n.Loops {
		w.extents = append(w.extents, l.N)
		if l.Dim >= 0 {
			w.spread = append(w.spread, k)
		}
	}
	w.aligned = w.align()
	return w
}

// Aligned reports whether every rank runs at most one value of each distributed loop. If so,
// instance t of a scope is the same iteration at all ranks: the loops that are not distributed have
// the same values.
func (w *Walk) Aligned() bool { return w.aligned }

func (w *Walk) align() bool {
	places := int64(1)
	for _, k := range w.spread {
		if w.extents[k] > w.dims[w.Nest.Loops[k].Dim] {
			return false
		}
		places *= w.extents[k]
	}
	if places > int64(w.Ranks) {
		return false
	}
	if w.Nest.Machine.Points() <= int64(w.Ranks) {
		return true
	}
	// There are more points of the machine than ranks, but some points run nothing.
	point, used := make([]int64, len(w.extents)), map[int]bool{}
	known := make([]bool, len(w.extents))
	return newSystem(w.extents, nil, known, w.spread).each(point, nil, func() bool {
		r := w.Rank(point)
		first := !used[r]
		used[r] = true
		return first
	})
}

// Rank returns the rank that runs a point. The values of the distributed loops, mod the sizes of
// their dimensions, are coordinates in the machine. Points of the machine are numbered row-major,
// and number n belongs to rank n mod w.Ranks.
func (w *Walk) Rank(point []int64) int {
	number := int64(0)
	for _, k := range w.spread {
		d := w.Nest.Loops[k].Dim
		c := point[k]
		if c >= w.dims[d] {
			c %= w.dims[d]
		}
		for _, n := range w.dims[d+1:] {
			c *= n
		}
		number += c
	}
	if number < int64(w.Ranks) {
		return int(number)
	}
	return int(number % int64(w.Ranks))
}

// Coordinates returns the coordinates of the machine's point whose number is rank. If rank is not
// less than the number of points, the first coordinate is outside its dimension.
func (w *Walk) Coordinates(rank int) []int64 {
	at := make([]int64, len(w.dims))
	left := int64(rank)
	for d := len(at) - 1; d > 0; d-- {
		at[d] = left % w.dims[d]
		left /= w.dims[d]
	}
	at[0] = left
	return at
}

// distance returns the number of dimensions whose coordinates differ between two ranks.
func (w *Walk) distance(a, b int) int {
	x, y, differ := int64(a), int64(b), 0
	for d := len(w.dims) - 1; d > 0 && x != y; d-- {
		n := w.dims[d]
		if x%n != y%n {
			differ++
		}
		x, y = x/n, y/n
	}
	if x != y {
		differ++
	}
	return differ
}

// Points yields the points of a rank, in the order of the loops. The slice is reused for the next
// point.
func (w *Walk) Points(rank int) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) { w.each(rank, nil, yield) }
}

// Some yields the points of a rank at which every loop i with fixed[i] has the value 0. Distributed
// loops must not be fixed. The slice is reused for the next point.
func (w *Walk) Some(rank int, fixed []bool) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) { w.each(rank, fixed, yield) }
}

// At yields all points in some of the nest's Chunks, in the order of the nest's loops. chunks holds
// the indices of these Chunks, and numbers[k] is the number that chunk chunks[k] must have at the
// point. The slice is reused for the next point.
func (w *Walk) At(chunks []int, numbers []int64) iter.Seq[[]int64] {
	return w.Finder(chunks, make([]bool, len(w.extents))).At(numbers)
}

// Finder finds the points of a nest that have given chunk numbers for some of the nest's Chunks.
type Finder struct {
	w      *Walk
	chunks []int
	system *system
}

// Finder returns a Finder for the nest's Chunks with the given indices. If fixed[i] is true, loop i
// has the value 0 at all points that the Finder finds. A loop that determines one of these chunks
// must not be fixed.
func (w *Walk) Finder(chunks []int, fixed []bool) *Finder {
	find := slices.DeleteFunc(count(len(w.extents)), func(k int) bool { return fixed[k] })
	return &Finder{w, chunks, newSystem(w.extents, equations(w.Nest, chunks), fixed, find)}
}

// At yields the points that have the given chunk numbers. numbers[k] is the chunk number for
// chunks[k], where chunks is the list that Walk.Finder was called with. Points come in the order of
// the nest's loops. The slice is reused for the next point.
func (x *Finder) At(numbers []int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		right := make([]int64, len(x.system.eqs))
		digits(x.w.Nest, x.chunks, numbers, right)
		point := make([]int64, len(x.w.extents))
		x.system.each(point, right, func() bool { return yield(point) })
	}
}

// count returns the numbers from 0 to n-1.
func count(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
	}
	return list
}

// places returns the points of the machine that belong to a rank, without the points at which
// nothing runs. For each point, it returns the coordinates in the dimensions over which loops are
// distributed, in the order of the loops. The points are sorted.
func (w *Walk) places(rank int) [][]int64 {
	var list [][]int64
	at := make([]int64, len(w.dims))
	for p := int64(rank); p < w.Nest.Machine.Points(); p += int64(w.Ranks) {
		left := p
		for d := len(at) - 1; d >= 0; d-- {
			at[d] = left % w.dims[d]
			left /= w.dims[d]
		}
		if c, ok := w.active(at); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, slices.Compare[[]int64])
	return list
}

// active returns the coordinates of a point of the machine in the dimensions over which loops are
// distributed, in the order of the loops. at holds the coordinates in all dimensions. active
// returns false if nothing runs at the point.
func (w *Walk) active(at []int64) ([]int64, bool) {
	sum := int64(0)
	for _, c := range at {
		sum += c
	}
	list := make([]int64, 0, len(w.spread))
	for _, k := range w.spread {
		c := at[w.Nest.Loops[k].Dim]
		if c >= w.extents[k] {
			return nil, false
		}
		sum -= c
		list = append(list, c)
	}
	return list, sum == 0 // a dimension without a loop only runs at 0
}

// each calls yield for each point of a rank, in the order of the loops, until yield returns false.
// If fixed[i] is true, loop i keeps the value 0; such a loop must not be distributed. each returns
// false if yield did.
func (w *Walk) each(rank int, fixed []bool, yield func([]int64) bool) bool {
	places := w.places(rank)
	if len(places) == 0 {
		return true
	}
	v := visit{w, fixed, make([]int64, len(w.extents)), yield}
	return v.loop(0, places, 0)
}

// visit iterates over the points of a rank.
type visit struct {
	w     *Walk
	fixed []bool
	point []int64
	yield func([]int64) bool
}

// loop iterates over the values of loop k that the rank runs, and over the loops inside loop k. It
// calls v.yield at each point. d is the number of distributed loops outside loop k. places lists
// the rank's points of the machine that run the current values of these d loops. If v.yield returns
// false, loop stops and returns false.
func (v *visit) loop(k int, places [][]int64, d int) bool {
	if k == len(v.point) {
		return v.yield(v.point)
	}
	n, dim := v.w.extents[k], v.w.Nest.Loops[k].Dim
	if dim < 0 {
		if v.fixed != nil && v.fixed[k] {
			n = 1
		}
		for x := range n {
			v.point[k] = x
			if !v.loop(k+1, places, d) {
				return false
			}
		}
		return true
	}
	for first := int64(0); first < n; first += v.w.dims[dim] {
		for lo := 0; lo < len(places); {
			c, hi := places[lo][d], lo+1
			for hi < len(places) && places[hi][d] == c {
				hi++
			}
			v.point[k] = first + c
			if first+c < n && !v.loop(k+1, places[lo:hi], d+1) {
				return false
			}
			lo = hi
		}
	}
	return true
}
