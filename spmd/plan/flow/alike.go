package flow

import (
	"iter"
	"slices"
)

// freeLoops returns the distributed loops that have more than one value and occur in no equation of
// eqs. Ranks need the same pieces if they differ only in the values of these loops. freeLoops
// returns nil in three cases: the machine has more points than there are ranks, Tensor.Reads is
// set, or the walk is not aligned (see Walk.Aligned).
func (f *Flow) freeLoops(eqs []equation) (free []int) {
	if f.t.Reads != nil || !f.w.aligned || f.w.Nest.Machine.Points() > int64(f.w.Ranks) {
		return nil
	}
	for _, k := range f.w.spread {
		if f.w.extents[k] > 1 &&
			!slices.ContainsFunc(eqs, func(e equation) bool { return slices.Contains(e.loops, k) }) {
			free = append(free, k)
		}
	}
	return free
}

// Alike yields lists of ranks that need the same pieces in the same instances. Each rank is in one
// list. The slice is reused for the next list.
func (f *Flow) Alike() iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		if len(f.free) == 0 {
			list := []int{0}
			for list[0] = range f.w.Ranks {
				if !yield(list) {
					return
				}
			}
			return
		}
		lists := make([][]int, f.w.Ranks)
		for rank, first := range f.representatives() {
			if first < 0 {
				first = rank
			}
			lists[first] = append(lists[first], rank)
		}
		for _, list := range lists {
			if len(list) > 0 && !yield(list) {
				return
			}
		}
	}
}

// representatives returns, for each rank, the lowest rank that differs from it only in the values
// of free loops (see freeLoops). Both ranks need the same pieces in the same instances. The lowest
// rank has coordinate 0 in the machine's dimensions of the free loops, and the rank's own
// coordinates in the other dimensions. The value is -1 for a rank that runs nothing.
func (f *Flow) representatives() []int {
	if f.first != nil {
		return f.first
	}
	f.first = make([]int, f.w.Ranks)
	for rank := range f.first {
		at := f.w.Coordinates(rank)
		if _, ok := f.w.active(at); !ok {
			f.first[rank] = -1
			continue
		}
		for _, k := range f.free {
			at[f.w.Nest.Loops[k].Dim] = 0
		}
		number := int64(0)
		for d, c := range at {
			number = number*f.w.dims[d] + c
		}
		f.first[rank] = int(number)
	}
	return f.first
}

// multicastsAlike appends the multicasts of piece b to list. To save time, it examines only one
// rank of each list that Alike yields. It returns false if this rank does not tell enough about the
// others: if no loop is free, if several ranks own the piece, or if ranks that needed the piece in
// the previous instance may forward it. The caller must then ignore the returned list.
func (f *Flow) multicastsAlike(b int64, list []Multicast) ([]Multicast, bool) {
	homes := f.owners(b)
	if len(f.free) == 0 || len(homes) > 1 {
		return list, false
	}
	alike, home, ok := 1, f.representatives()[homes[0]], true
	for _, k := range f.free {
		alike *= int(f.w.extents[k])
	}
	f.eachInstance(f.usesOf(f.some, b), func(_ int64, had, now []int) {
		to := 0
		for _, r := range now {
			if hasRank(had, r) {
				continue
			}
			if to += alike; r == home {
				to--
			}
		}
		if ok = ok && (len(had) == 0 || !f.forwarding()); to > 0 {
			list = append(list, Multicast{b, homes[0], to})
		}
	})
	return list, ok
}
