package flow

import "iter"

// Need is a piece that a rank needs in an instance. Piece is its row-major number over the axes.
type Need struct {
	Piece int64
	// the piece was not needed in the instance before: it is fetched unless the rank owns it
	Comes bool
	Homes []int // ranks that own the piece, sorted
}

// Needs yields each instance of a rank that reads something, with the pieces that it needs, each
// once, in the order of their first use. It combines Instances and Fetches for callers that only
// count. The slice is reused for the next instance.
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

// Multicast is the transfer of a piece from rank From to several other ranks. To is their number.
type Multicast struct {
	Piece    int64
	From, To int
}

// Multicasts yields the multicasts of all ranks and instances, grouped by piece. Callers that only
// count use it instead of Sends.
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

// multicastsOf appends the multicasts of a piece. to must be all 0, and is all 0 again afterwards.
func (f *Flow) multicastsOf(b int64, list []Multicast, to []int) []Multicast {
	f.eachUse(b, func(_ int64, had, now []int) {
		f.roots = f.addRoots(b, had, now, to, f.roots[:0])
		for _, r := range f.roots {
			list = append(list, Multicast{b, r, to[r]})
			to[r] = 0
		}
	})
	return list
}

// addRoots counts the sources of piece b in an instance. now lists the ranks that need the piece,
// and had lists the ranks that needed it in the instance before. For each rank of now that fetches
// the piece from another rank, addRoots increments the source's element of to. It appends each new
// source to roots.
func (f *Flow) addRoots(b int64, had, now, to, roots []int) []int {
	homes := f.owners(b)
	for _, r := range now {
		if hasRank(had, r) || hasRank(homes, r) {
			continue
		}
		from := f.source(r, b, had)
		if to[from] == 0 {
			roots = append(roots, from)
		}
		to[from]++
	}
	return roots
}
