package store

import "slices"

// rowWindows are the consecutive ranges of a result's rows that ranks put together, each in one
// piece. Rows are counted, or have keys.
type rowWindows struct {
	ends    []int64 // where windows end, in rows
	entries []int64 // of each window, a rank: [window*ranks + rank]
	starts  []int64 // entries before each window, and all
	first   []int   // a rank's first window, and their number
}

// share gives each rank windows of about the same weight, of which weigh has that of a window with
// so many entries. It is false where one has more entries than most.
func (x *rowWindows) share(ranks int, most int64, weigh func(w int, entries int64) int64) bool {
	x.starts = []int64{0}
	weight := []int64{0}
	for w := range x.ends {
		n := int64(0)
		for _, k := range x.entries[w*ranks : (w+1)*ranks] {
			n += k
		}
		if n > most {
			return false
		}
		x.starts = append(x.starts, x.starts[w]+n)
		weight = append(weight, weight[w]+weigh(w, n))
	}
	total := float64(weight[len(x.ends)])
	for rank := range ranks {
		w, _ := slices.BinarySearch(weight[:len(x.ends)], int64(total/float64(ranks)*float64(rank)))
		x.first = append(x.first, w)
	}
	x.first = append(x.first, len(x.ends))
	return true
}

// span is the rows of window w.
func (x *rowWindows) span(w int) (lo, hi int64) {
	if w > 0 {
		lo = x.ends[w-1]
	}
	return lo, x.ends[w]
}

// along lists all blocks as their boxes follow in a mode.
func (t *Blocks) along(mode int) []int {
	order := make([]int, len(t.Owners))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := t.Boxes[a][mode], t.Boxes[b][mode]
		return slices.Compare(p[:], q[:])
	})
	return order
}
