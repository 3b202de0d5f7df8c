package flow

import "iter"

// Need is a piece that a rank needs in an instance, by its number, row-major over the axes.
type Need struct {
	Piece int64
	// it was not needed in the instance before, so that it comes, if it does not live at the rank
	Comes bool
	Homes []int // the ranks where it lives, sorted
}

// Needs are the instances in which a rank reads something, with the pieces that it needs in them,
// each once, in the order of their first use. It is Instances and Fetches for one that counts them:
// the slice is used again for the next instance.
func (f *Flow) Needs(rank int) iter.Seq2[int64, []Need] {
	return func(yield func(int64, []Need) bool) {
		f.tabulate()
		var list []Need
		f.instances(rank, func(t int64, needs []need) bool {
			list = list[:0]
			for _, n := range needs {
				list = append(list, Need{n.piece, !n.had, f.homes(n.piece)})
			}
			return yield(t, list)
		})
	}
}

// Multicast is a piece on its way from a rank to so many others.
type Multicast struct {
	Piece    int64
	From, To int
}

// Multicasts are those of all ranks and instances, by piece: Sends of all ranks for one that counts
// them.
func (f *Flow) Multicasts() iter.Seq[Multicast] {
	return func(yield func(Multicast) bool) {
		f.tabulate()
		to := make([]int, f.w.Ranks)
		var list []Multicast // of a piece
		for b := range f.pieces() {
			if len(f.homes(b)) == f.w.Ranks {
				continue
			}
			var ok bool
			if list, ok = f.atOnce(b, list[:0]); !ok {
				list = f.oneByOne(b, list[:0], to)
			}
			for _, m := range list {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// oneByOne appends the multicasts of a piece. It uses to, which is all 0, and leaves it so.
func (f *Flow) oneByOne(b int64, list []Multicast, to []int) []Multicast {
	f.eachUse(b, func(_ int64, had, now []int) {
		f.roots = f.addRoots(b, had, now, to, f.roots[:0])
		for _, r := range f.roots {
			list = append(list, Multicast{b, r, to[r]})
			to[r] = 0
		}
	})
	return list
}

// addRoots appends the ranks from which some of the ranks now fetch a piece, where those of had
// needed it in the instance before, and adds to to how many do from each.
func (f *Flow) addRoots(b int64, had, now, to, roots []int) []int {
	homes := f.homes(b)
	for _, r := range now {
		if has(had, r) || has(homes, r) {
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
