package flow

import (
	"slices"

	"distaff/codegen/place"
)

// Tensor is an operand as its flow sees it. Its functions must not keep the slices that they get,
// and give the same for the same values.
type Tensor struct {
	Cut    []int                    // indices of Nest.Chunks, by axis of its partition
	Owner  func(at []int64) int     // where the piece at these chunks of the axes lives
	Copies func(at []int64) []int   // all ranks where it lives; nil: Owner alone
	Scope  int                      // loops, a prefix of Nest.Loops, whose iterations bring its pieces
	Reads  func(point []int64) bool // whether the leaf at a point reads it; nil: always
	// whether there is no such piece, so that nobody needs it; nil: there are all
	Lacks func(at []int64) bool
	// Direct has every piece come from a rank where it lives.
	Direct bool
}

// Flow is how the pieces of a tensor go between the ranks of a walk. It has working memory, so
// that only one goroutine may use it at a time; its iterators may be nested.
type Flow struct {
	w      *Walk
	t      Tensor
	chunks []*place.Chunks
	counts []int64 // how many chunks there are along each axis
	once   []bool  // the loops that run in order and change nothing for this tensor
	times  []int   // the loops of the scope that run in order
	steps  int64   // how many instances there are at each rank, where the walk is aligned

	single bool // every instance of a rank has one piece
	// the distributed loops that change nothing for this tensor, where all points of the machine are
	// ranks
	free   []int
	all    *system // finds all loops
	some   *system // finds all loops but the free ones
	spread *system // finds the distributed loops, given those of times
	inner  *system // finds the others, given these

	point, right, at []int64 // working memory of the systems
	ranks            []int
	uses             []use
	roots            []int
	now, had         []int
	hit              bool
	addRank, addUse  func() bool // what the systems call
	test             func() bool

	prefixes  map[int][]int64 // the instances of ranks, where the walk is not aligned
	homePiece int64           // the piece whose ranks are in home; -1: none
	home      []int
	homeSets  [][]int // the ranks where pieces live, each list once, but for some that begin alike
	homeOf    []int32 // by piece, which of them; nil: not yet found
	first     []int   // see firsts
	// of each rank, which of homeSets it is in and other ranks are not; nil: not yet found
	setsAt   [][]int32
	piecesOf [][]int64 // the pieces of each of homeSets
	slab     []int64   // memory for the pieces that are given out
}

// New returns the flow of a tensor.
func New(w *Walk, t Tensor) *Flow {
	loops := len(w.extents)
	f := &Flow{
		w: w, t: t, once: make([]bool, loops), steps: 1, homePiece: -1, prefixes: map[int][]int64{},
		point: make([]int64, loops), at: make([]int64, len(t.Cut)),
	}
	for _, c := range t.Cut {
		n := int64(1)
		for _, d := range w.Nest.Chunks[c].Digits {
			n *= d.N
		}
		f.chunks = append(f.chunks, &w.Nest.Chunks[c])
		f.counts = append(f.counts, n)
	}
	eqs := equations(w.Nest, t.Cut)
	f.right = make([]int64, len(eqs))
	f.compile(eqs)
	f.addRank, f.addUse, f.test = f.rankFound, f.useFound, f.readTest
	return f
}

// compile makes the systems of the equations of the tensor's chunks.
func (f *Flow) compile(eqs []equation) {
	var inner []int
	known := slices.Clone(f.once)
	for k, l := range f.w.Nest.Loops {
		switch {
		case l.Dim >= 0:
		case l.N == 1:
			f.once[k], known[k] = true, true
		case k < f.t.Scope:
			f.times = append(f.times, k)
			f.steps *= l.N
			known[k] = true
		case f.t.Reads == nil &&
			!slices.ContainsFunc(eqs, func(e equation) bool { return slices.Contains(e.loops, k) }):
			f.once[k], known[k] = true, true
		default:
			inner = append(inner, k)
		}
	}
	f.single = f.w.aligned && len(inner) == 0
	find := func(known []bool, loops []int) *system {
		return newSystem(f.w.extents, eqs, known, sooner(eqs, known, loops))
	}
	f.free = f.freeLoops(eqs)
	all := slices.Concat(f.times, f.w.spread, inner) // by instance first, as uses are wanted
	f.all = find(f.once, all)
	f.some = find(f.once, slices.DeleteFunc(all,
		func(k int) bool { return slices.Contains(f.free, k) }))
	f.spread = find(known, f.w.spread)
	for _, k := range f.w.spread {
		known[k] = true
	}
	f.inner = find(known, inner)
}

// piece is the number of the piece that the tensor has at a point: row-major over the axes.
func (f *Flow) piece(point []int64) int64 {
	b := int64(0)
	for k, c := range f.chunks {
		b = b*f.counts[k] + c.Of(point)
	}
	return b
}

// numbered is the number of the piece at these chunks of the axes.
func (f *Flow) numbered(at []int64) int64 {
	b := int64(0)
	for k, n := range f.counts {
		b = b*n + at[k]
	}
	return b
}

// lacks tells whether there is no such piece.
func (f *Flow) lacks(b int64) bool {
	if f.t.Lacks == nil {
		return false
	}
	f.open(b, f.at)
	return f.t.Lacks(f.at)
}

// open puts the chunks of a piece into at.
func (f *Flow) open(b int64, at []int64) {
	for k := len(at) - 1; k >= 0; k-- {
		at[k] = b % f.counts[k]
		b /= f.counts[k]
	}
}

// chunksOf gives the chunks of a piece, in memory that is not used again.
func (f *Flow) chunksOf(b int64) []int64 {
	n := len(f.counts)
	if len(f.slab) < n {
		f.slab = make([]int64, 128*n)
	}
	at := f.slab[:n:n]
	f.slab = f.slab[n:]
	f.open(b, at)
	return at
}

// pieces is how many there are.
func (f *Flow) pieces() int64 {
	n := int64(1)
	for _, c := range f.counts {
		n *= c
	}
	return n
}

// tabulate finds the ranks of all pieces.
func (f *Flow) tabulate() {
	if f.homeOf != nil {
		return
	}
	of, sets := make([]int32, 0, f.pieces()), map[int]int32{} // by the first rank
	var all [][]int
	for b := range f.pieces() {
		list := f.homes(b)
		k, ok := sets[list[0]]
		if !ok || !slices.Equal(all[k], list) {
			k = int32(len(all))
			sets[list[0]], all = k, append(all, slices.Clone(list))
		}
		of = append(of, k)
	}
	f.homeSets, f.homeOf = all, of
}

// homes are the ranks where a piece lives, sorted. They are kept until the next call.
func (f *Flow) homes(b int64) []int {
	if f.homeOf != nil {
		return f.homeSets[f.homeOf[b]]
	}
	if b == f.homePiece {
		return f.home
	}
	f.open(b, f.at)
	f.home = f.home[:0]
	if f.t.Copies == nil {
		f.home = append(f.home, f.t.Owner(f.at))
	} else {
		f.home = append(f.home, f.t.Copies(f.at)...)
		slices.Sort(f.home)
		f.home = slices.Compact(f.home)
	}
	f.homePiece = b
	return f.home
}

// livingAt are the pieces that live at a rank and that another may lack, in order.
func (f *Flow) livingAt(rank int) []int64 {
	if f.setsAt == nil {
		f.tabulate()
		f.setsAt, f.piecesOf = make([][]int32, f.w.Ranks), make([][]int64, len(f.homeSets))
		for k, homes := range f.homeSets {
			if len(homes) < f.w.Ranks {
				for _, r := range homes {
					f.setsAt[r] = append(f.setsAt[r], int32(k))
				}
			}
		}
		for b, k := range f.homeOf {
			f.piecesOf[k] = append(f.piecesOf[k], int64(b))
		}
	}
	sets := f.setsAt[rank]
	if len(sets) == 1 {
		return f.piecesOf[sets[0]]
	}
	var list []int64
	for _, k := range sets {
		list = append(list, f.piecesOf[k]...)
	}
	slices.Sort(list)
	return list
}

// has tells whether a sorted list has a rank.
func has(list []int, rank int) bool {
	if len(list) == 1 {
		return list[0] == rank
	}
	_, ok := slices.BinarySearch(list, rank)
	return ok
}
