package flow

import (
	"slices"

	"distaff/codegen/place"
)

// Tensor describes to package flow how an operand is cut, owned and read. Its functions must return
// the same result for the same arguments, and must not retain the slices that are passed to them.
type Tensor struct {
	// for each axis of its partition, the index in Nest.Chunks of the chunks that cut the axis
	Cut   []int
	Owner func(at []int64) int // returns the owner of the piece whose chunk along axis k is at[k]
	// returns all ranks with a copy, or is nil if only Owner has one
	Copies func(at []int64) []int
	Scope  int // number of outermost loops of the nest whose iterations fetch pieces
	// reports whether the leaf at a point reads the tensor; nil means always
	Reads func(point []int64) bool
	// Lacks reports whether a piece does not exist, so that no rank needs it. nil means that all
	// exist.
	Lacks func(at []int64) bool
	// Direct makes owners the only sources of pieces.
	Direct bool
}

// Flow computes how the pieces of a tensor move between the ranks of a walk. It has working memory,
// so that only one goroutine may use it at a time. Its iterators may be nested.
type Flow struct {
	w      *Walk
	t      Tensor
	chunks []*place.Chunks
	counts []int64 // by axis, the number of its chunks
	fixed  []bool  // loops that are not distributed and do not affect this tensor
	times  []int   // loops of the scope that are not distributed
	steps  int64   // number of instances of each rank, if the walk is aligned

	single bool // every instance of a rank has one piece
	// distributed loops that do not affect this tensor, if each point of the machine is one rank
	free   []int
	all    *system // finds the values of all loops
	some   *system // finds the values of all loops except the loops of free
	spread *system // finds the distributed loops, given the loops of times
	inner  *system // finds the remaining loops, given the loops of times and the distributed ones

	point, right, at []int64 // working memory of the systems
	ranks            []int
	uses             []use
	roots            []int
	now, had         []int
	hit              bool
	addRank, addUse  func() bool // callbacks of the systems
	test             func() bool

	// by rank, the numbers of its instances' scope values, if the walk is not aligned
	prefixes  map[int][]int64
	homePiece int64 // the piece whose owners are in home; -1 if home is not valid
	home      []int
	homeSets  [][]int // different lists of owners; rarely, a list occurs twice
	// by piece, the index of its owners in homeSets; nil until tabulate is called
	homeOf []int32
	first  []int // result of representatives; nil until representatives is called
	// for each rank, the indices of the homeSets that contain the rank but not all ranks; nil until
	// ownedBy is called
	setsAt   [][]int32
	piecesOf [][]int64 // for each element of homeSets, the pieces with these owners
	slab     []int64   // memory for the slices that chunksOf returns
}

// New returns a Flow, which computes how the pieces of tensor t move between the ranks while they
// run the points of the walk w.
func New(w *Walk, t Tensor) *Flow {
	loops := len(w.extents)
	f := &Flow{
		w: w, t: t, fixed: make([]bool, loops), steps: 1, homePiece: -1, prefixes: map[int][]int64{},
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

// compile makes the systems of f. Each system finds the points that need a given piece. For this,
// it solves the equations eqs for the values of some loops. The equations relate the values of the
// loops to the numbers of the piece's chunks. compile also sets f.fixed, f.times, f.steps, f.single
// and f.free.
func (f *Flow) compile(eqs []equation) {
	var inner []int
	known := slices.Clone(f.fixed)
	for k, l := range f.w.Nest.Loops {
		switch {
		case l.Dim >= 0:
		case l.N == 1:
			f.fixed[k], known[k] = true, true
		case k < f.t.Scope:
			f.times = append(f.times, k)
			f.steps *= l.N
			known[k] = true
		case f.t.Reads == nil &&
			!slices.ContainsFunc(eqs, func(e equation) bool { return slices.Contains(e.loops, k) }):
			f.fixed[k], known[k] = true, true
		default:
			inner = append(inner, k)
		}
	}
	f.single = f.w.aligned && len(inner) == 0
	find := func(known []bool, loops []int) *system {
		return newSystem(f.w.extents, eqs, known, determinedFirst(eqs, known, loops))
	}
	f.free = f.freeLoops(eqs)
	// instances come first, because uses are listed by instance
	all := slices.Concat(f.times, f.w.spread, inner)
	f.all = find(f.fixed, all)
	f.some = find(f.fixed, slices.DeleteFunc(all,
		func(k int) bool { return slices.Contains(f.free, k) }))
	f.spread = find(known, f.w.spread)
	for _, k := range f.w.spread {
		known[k] = true
	}
	f.inner = find(known, inner)
}

// piece returns the number of the piece that a point reads. Pieces are numbered row-major over the
// axes.
func (f *Flow) piece(point []int64) int64 {
	b := int64(0)
	for k, c := range f.chunks {
		b = b*f.counts[k] + c.Of(point)
	}
	return b
}

// pieceAt returns the number of the piece whose chunk along axis k is at[k].
func (f *Flow) pieceAt(at []int64) int64 {
	b := int64(0)
	for k, n := range f.counts {
		b = b*n + at[k]
	}
	return b
}

// isMissing reports whether piece b does not exist.
func (f *Flow) isMissing(b int64) bool {
	if f.t.Lacks == nil {
		return false
	}
	f.chunksInto(b, f.at)
	return f.t.Lacks(f.at)
}

// chunksInto sets at[k] to the chunk of piece b along each axis k.
func (f *Flow) chunksInto(b int64, at []int64) {
	for k := len(at) - 1; k >= 0; k-- {
		at[k] = b % f.counts[k]
		b /= f.counts[k]
	}
}

// chunksOf returns the chunks of piece b in memory that is not reused.
func (f *Flow) chunksOf(b int64) []int64 {
	n := len(f.counts)
	if len(f.slab) < n {
		f.slab = make([]int64, 128*n)
	}
	at := f.slab[:n:n]
	f.slab = f.slab[n:]
	f.chunksInto(b, at)
	return at
}

// pieces returns the number of pieces.
func (f *Flow) pieces() int64 {
	n := int64(1)
	for _, c := range f.counts {
		n *= c
	}
	return n
}

// tabulate computes the owners of all pieces.
func (f *Flow) tabulate() {
	if f.homeOf != nil {
		return
	}
	// index in all of the last list that starts with a rank
	of, sets := make([]int32, 0, f.pieces()), map[int]int32{}
	var all [][]int
	for b := range f.pieces() {
		list := f.owners(b)
		k, ok := sets[list[0]]
		if !ok || !slices.Equal(all[k], list) {
			k = int32(len(all))
			sets[list[0]], all = k, append(all, slices.Clone(list))
		}
		of = append(of, k)
	}
	f.homeSets, f.homeOf = all, of
}

// owners returns the owners of piece b, sorted. The slice is valid until the next call.
func (f *Flow) owners(b int64) []int {
	if f.homeOf != nil {
		return f.homeSets[f.homeOf[b]]
	}
	if b == f.homePiece {
		return f.home
	}
	f.chunksInto(b, f.at)
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

// ownedBy returns, in order, the pieces that a rank owns, except the pieces that all ranks own.
func (f *Flow) ownedBy(rank int) []int64 {
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

// hasRank reports whether a sorted list contains a rank.
func hasRank(list []int, rank int) bool {
	if len(list) == 1 {
		return list[0] == rank
	}
	_, ok := slices.BinarySearch(list, rank)
	return ok
}
