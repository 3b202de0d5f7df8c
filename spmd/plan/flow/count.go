package flow

import "iter"

// Need is a piece that a rank needs in an instance. Piece is its row-major number over the axes.
type Need struct {
	Piece int64
	// the piece was not needed in the instance before: it is fetched unless the rank owns it
	IsNew bool
	Homes []int // ranks that own the piece, sorted
}

// Needs yields the number of each instance that makes a rank read something. With each number it
// yields the pieces that the rank needs in this instance: each piece once, in the order of first
// use. Callers that only count use Needs instead of Instances and Fetches. Needs makes one pass
// over the rank's points, but Instances and Fetches make one pass each. The slice is reused for the
// next instance.
func (f *Flow) Needs(rank int) iter.Seq2[int64, []Need] {
	return func(yield func(int64, []Need) bool) {
		f.tabulate()
		var list []Need
		f.instances(rank, func(t int64, needs []need) bool {
			list = list[:0]
			for _, n := range needs {
				list = append(list, Need{n.piece, !n.had, f.owners(n.piece)})
			}
			return yield(t, list)
		})
	}
}

// Multicast is the transfer of a piece from rank From to one or more other ranks. To is their
// number.
type Multicast struct {
	Piece    int64
	From, To int
}

// Multicasts yields the multicasts of all ranks and instances, grouped by piece. Sends lists the
// receivers of a multicast. Multicasts only counts them.
func (f *Flow) Multicasts() iter.Seq[Multicast] {
	return func(yield func(Multicast) bool) {
		f.tabulate()
		to := make([]int, f.w.Ranks)
		var list []Multicast // of one piece
		for b := range f.pieces() {
			if len(f.owners(b)) == f.w.Ranks {
				continue
			}
			var ok bool
			if list, ok = f.multicastsAlike(b, list[:0]); !ok {
				list = f.multicastsOf(b, list[:0], to)
			}
			for _, m := range list {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// multicastsOf appends the multicasts of piece b in all instances to list, and returns the list.
// counts is working memory with one element for each rank. Its elements must be 0 at the call, and
// are 0 again afterwards.
func (f *Flow) multicastsOf(b int64, list []Multicast, counts []int) []Multicast {
	f.eachUse(b, func(_ int64, had, now []int) {
		f.roots = f.addRoots(b, had, now, counts, f.roots[:0])
		for _, r := range f.roots {
			list = append(list, Multicast{b, r, counts[r]})
			counts[r] = 0
		}
	})
	return list
}

// addRoots counts the ranks that fetch piece b in one instance, separately for each sender. readers
// lists the ranks that need the piece in this instance, and holders the ranks that needed it in the
// previous instance. For each reader that fetches the piece from a rank r, addRoots increments
// counts[r]. If counts[r] was 0, addRoots also appends r to roots. It returns roots.
func (f *Flow) addRoots(b int64, holders, readers, counts, roots []int) []int {
	homes := f.owners(b)
	for _, r := range readers {
		if hasRank(holders, r) || hasRank(homes, r) {
			continue
		}
		from := f.source(r, b, holders)
		if counts[from] == 0 {
			roots = append(roots, from)
		}
		counts[from]++
	}
	return roots
}
