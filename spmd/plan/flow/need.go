package flow

import (
	"cmp"
	"iter"
	"slices"
)

// need is a piece that a rank needs in an instance. had says that the rank also needed it in the
// instance before.
type need struct {
	piece int64
	had   bool
}

// Instances yields the number of each instance that makes a rank read something. With each number
// it yields the pieces that the rank needs in this instance: each piece once, in the order of first
// use. A piece is a list of its chunks, one for each axis.
func (f *Flow) Instances(rank int) iter.Seq2[int64, [][]int64] {
	return func(yield func(int64, [][]int64) bool) {
		f.instances(rank, func(t int64, needs []need) bool {
			list := make([][]int64, len(needs))
			for k, n := range needs {
				list[k] = f.chunksOf(n.piece)
			}
			return yield(t, list)
		})
	}
}

// instances calls yield for each instance of a rank that reads something, until yield returns
// false. t is the number of the instance. needs lists the pieces that the rank needs in this
// instance, each piece once. The slice is reused for the next instance.
func (f *Flow) instances(rank int, yield func(t int64, needs []need) bool) {
	last, t := make([]int64, f.t.Scope), int64(-1)
	used := used{f: f, only: -1}
	var needs []need
	done := f.w.each(rank, f.fixed, func(point []int64) bool {
		if t < 0 || !slices.Equal(last, point[:len(last)]) {
			if len(needs) > 0 && !yield(t, needs) {
				return false
			}
			t, needs = t+1, needs[:0]
			copy(last, point)
		}
		if f.t.Reads != nil && !f.t.Reads(point) {
			return true
		}
		b := f.piece(point)
		if f.isMissing(b) {
			return true
		}
		before := used.neededBy(b, t)
		if before == t {
			return true
		}
		needs = append(needs, need{b, before >= 0 && before == t-1})
		return true
	})
	if done && len(needs) > 0 {
		yield(t, needs)
	}
}

// used stores, for each piece that a rank has needed so far, the number of the latest instance that
// needed the piece. If each instance has one piece (Flow.single), used stores only the last piece
// and the last instance.
type used struct {
	f        *Flow
	all      map[int64]int64
	only, at int64 // if each instance has one piece: the last piece and its instance
}

// neededBy records that instance t needs piece b. It returns the latest instance that was recorded
// for b before, or -1 if there was none. The result may be t itself. If each instance has one
// piece, u stores only the last piece, and neededBy returns -1 if b is another piece. This is
// enough to see whether instance t-1 needed b.
func (u *used) neededBy(b, t int64) int64 {
	before := int64(-1)
	if u.f.single {
		if b == u.only {
			before = u.at
		}
		u.only, u.at = b, t
		return before
	}
	if u.all == nil {
		u.all = map[int64]int64{}
	}
	if at, ok := u.all[b]; ok {
		before = at
	}
	u.all[b] = t
	return before
}

// readers stores in list the ranks that need piece b in instance t, and returns them sorted. The
// walk must be aligned.
func (f *Flow) readers(list []int, t int64, b int64) []int {
	list = list[:0]
	if t < 0 || t >= f.steps || f.isMissing(b) {
		return list
	}
	for k := len(f.times) - 1; k >= 0; k-- {
		n := f.w.extents[f.times[k]]
		f.point[f.times[k]] = t % n
		t /= n
	}
	f.seek(b)
	f.ranks = list
	f.spread.each(f.point, f.right, f.addRank)
	list, f.ranks = f.ranks, nil
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
	return slices.Compact(list)
}

// seek sets the right sides of the equations for piece b. The systems then find the points that
// need b. seek splits the number of each of the piece's chunks into mixed-radix digits and stores
// the digits in f.right.
func (f *Flow) seek(b int64) {
	f.chunksInto(b, f.at)
	digits(f.w.Nest, f.t.Cut, f.at, f.right)
}

// rankFound is called at each solution of f.spread. The solution sets the values of the distributed
// loops, and these values determine a rank. rankFound appends this rank to f.ranks if the leaf
// reads the piece for some values of the inner loops. It returns true, so that the search
// continues.
func (f *Flow) rankFound() bool {
	f.hit = false
	f.inner.each(f.point, f.right, f.test)
	if f.hit {
		f.ranks = append(f.ranks, f.w.Rank(f.point))
	}
	return true
}

func (f *Flow) readTest() bool {
	f.hit = f.t.Reads == nil || f.t.Reads(f.point)
	return !f.hit
}

// use says that a rank needs a piece in instance t. The piece is the one that usesOf was called
// for.
type use struct {
	t    int64
	rank int
}

func (u use) compare(v use) int {
	return cmp.Or(cmp.Compare(u.t, v.t),
		cmp.Compare(u.rank, v.rank))
}

// allUses returns all uses of a piece, by instance and then by rank. The slice is valid until the
// next call.
func (f *Flow) allUses(b int64) []use { return f.usesOf(f.all, b) }

// usesOf returns the uses of piece b at the points that are solutions of system s, sorted by
// instance and then by rank. If s does not find the value of a free loop (see freeLoops), the loop
// has the value 0 at these points. The slice is valid until the next call.
func (f *Flow) usesOf(s *system, b int64) []use {
	f.uses = f.uses[:0]
	if f.isMissing(b) {
		return f.uses
	}
	f.seek(b)
	for _, k := range f.free {
		f.point[k] = 0
	}
	s.each(f.point, f.right, f.addUse)
	if !slices.IsSortedFunc(f.uses, use.compare) {
		slices.SortFunc(f.uses, use.compare)
	}
	f.uses = slices.Compact(f.uses)
	return f.uses
}

func (f *Flow) useFound() bool {
	if f.t.Reads == nil || f.t.Reads(f.point) {
		rank := f.w.Rank(f.point)
		f.uses = append(f.uses, use{f.instance(rank, f.point), rank})
	}
	return true
}

// instance returns the index of the instance of a rank that contains a point. The points of an
// instance have the same values of the scope's loops (see the package comment).
func (f *Flow) instance(rank int, point []int64) int64 {
	if f.w.aligned {
		t := int64(0)
		for _, k := range f.times {
			t = t*f.w.extents[k] + point[k]
		}
		return t
	}
	list, ok := f.prefixes[rank]
	if !ok {
		list = f.prefixesOf(rank)
		f.prefixes[rank] = list
	}
	t, _ := slices.BinarySearch(list, f.prefix(point))
	return int64(t)
}

// prefix returns the number of the iteration of the scope's loops that contains a point. The
// scope's loops are the first f.t.Scope loops of the nest. Iterations are numbered in the order of
// execution.
func (f *Flow) prefix(point []int64) int64 {
	number := int64(0)
	for k := range f.t.Scope {
		number = number*f.w.extents[k] + point[k]
	}
	return number
}

// prefixesOf lists the instances of a rank. It returns one number for each instance: the result of
// prefix for the points of the instance. The numbers are in ascending order.
func (f *Flow) prefixesOf(rank int) []int64 {
	fixed := make([]bool, len(f.w.extents))
	for k := f.t.Scope; k < len(fixed); k++ {
		fixed[k] = f.w.Nest.Loops[k].Dim < 0
	}
	var list []int64
	f.w.each(rank, fixed, func(point []int64) bool {
		if p := f.prefix(point); len(list) == 0 || p != list[len(list)-1] {
			list = append(list, p)
		}
		return true
	})
	return list
}
