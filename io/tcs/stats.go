package tcs

import "distaff/io/tensor"

// Stats are the statistics of a tensor. The header of a file also has them, so a planner needs to
// read only the header. In a tensor with padding, padding may count as entries in EmptySlices and
// MaxSlice: EmptySlices is then too small, or MaxSlice too large.
type Stats struct {
	Entries     int64 // stored entries: values without padding
	EmptySlices int64 // coordinates of level 0's mode, in the box, without entries
	MaxSlice    int64 // the largest number of values below one coordinate of level 0's mode
	Levels      []LevelStats
}

// LevelStats are the statistics of one level: the number of its Positions, the number of parents
// without a child in it (Empty), and the largest number of children that a parent has (Most).
type LevelStats struct{ Positions, Empty, Most int64 }

// Statistics computes the statistics of the tensor. It reads the pos arrays, and the crd arrays of
// singletons and of level 0. If a singleton is padded, it reads all crd arrays.
func (t *Tensor) Statistics() Stats { return t.StatsShare(0, 1).Stats(t) }

// StatsShare is the part of a tensor's statistics that one reader computes. To combine the parts
// of several readers, add Sums element by element, and take the maximum of Most element by
// element.
type StatsShare struct {
	// Sums contains for each level the number of empty parents or padded slots. Two numbers follow:
	// the number of entries, and the number of coordinates of level 0's mode that have entries.
	Sums []int64
	// Most contains for each level the largest number of children of a parent. One number follows:
	// the largest number of values in a slice.
	Most []int64
}

// StatsShare computes the statistics of part k of n of the tensor. Each array is divided into n
// parts of nearly equal length, so that n readers can each compute the statistics of one part.
func (t *Tensor) StatsShare(k, n int64) StatsShare {
	levels := len(t.Levels)
	sh := StatsShare{make([]int64, levels+2), make([]int64, levels+1)}
	part := func(total int64) (lo, hi int64) {
		at := func(k int64) int64 { return total/n*k + total%n*k/n }
		return at(k), at(k + 1)
	}
	padded := false
	for l := range t.Levels {
		lev := &t.Levels[l]
		switch lev.Form() {
		case tensor.Full:
			sh.Most[l] = lev.Size
		case tensor.Segmented:
			lo, hi := part(lev.Pos.Len - 1)
			if pos := lev.Pos.Sub(lo, hi+1); pos.Width == 4 {
				sh.Sums[l], sh.Most[l] = segments(Slice[int32](pos))
			} else {
				sh.Sums[l], sh.Most[l] = segments(Slice[int64](pos))
			}
		case tensor.Single:
			lo, hi := part(lev.Crd.Len)
			for i := lo; i < hi; i++ {
				if lev.Crd.Int(i) < 0 {
					sh.Sums[l]++
				} else {
					sh.Most[l] = 1
				}
			}
			padded = padded || lev.Kind.IsPadded()
		}
	}
	lo, hi := part(t.Vals.Len)
	sh.Sums[levels] = hi - lo
	if levels == 0 || t.Vals.Len == 0 {
		return sh
	}
	lo, hi = part(t.Positions(0))
	if padded {
		sh.Sums[levels] = countEntries(t, lo, hi)
	}
	sh.Most[levels], sh.Sums[levels+1] = sliceStats(t, lo, hi)
	return sh
}

// segments returns the number of empty segments that pos describes, and the length of the longest
// segment.
func segments[T int32 | int64](pos []T) (empty, most int64) {
	last, longest := pos[0], T(0)
	for _, next := range pos[1:] {
		if next == last {
			empty++
		}
		longest = max(longest, next-last)
		last = next
	}
	return empty, int64(longest)
}

// Stats returns the statistics of t. sh must be the combination of all shares. Of t's arrays, it
// uses only the lengths.
func (sh StatsShare) Stats(t *Tensor) Stats {
	levels := len(t.Levels)
	st := Stats{Levels: make([]LevelStats, levels), Entries: sh.Sums[levels],
		MaxSlice: sh.Most[levels]}
	parents := int64(1)
	for l := range st.Levels {
		s := &st.Levels[l]
		s.Positions, s.Empty, s.Most = t.Positions(l), sh.Sums[l], sh.Most[l]
		if lev := &t.Levels[l]; lev.Form() == tensor.Full && lev.Size == 0 {
			s.Empty = parents
		}
		parents = s.Positions
	}
	if levels > 0 {
		r := t.Header.Range(t.Levels[0].Mode)
		st.EmptySlices = r[1] - r[0] - sh.Sums[levels+1]
	}
	return st
}

// countEntries returns the number of entries below positions [lo, hi) of level 0.
func countEntries(t *Tensor, lo, hi int64) int64 {
	v := t
	if hi-lo < t.Positions(0) {
		var err error
		if v, err = t.View(Block{Cut: true, Level: 0, Lo: lo, Hi: hi}); err != nil {
			panic("BUG: tcs: a share of a tensor: " + err.Error())
		}
		defer v.Close()
	}
	n := int64(0)
	for c, col, index := v.Cursor(), columns(len(t.Levels), 512), make([]int64, 512); ; {
		k := c.Next(col, index)
		if k == 0 {
			return n
		}
		n += int64(k)
	}
}

// sliceStats returns statistics of slices: the largest number of values in a slice, and the number
// of slices that have values. A slice has one coordinate of level 0's mode. The function considers
// the slices at positions [lo, hi) of level 0. If level 0 repeats a coordinate, its slice belongs
// to the range that contains the coordinate's first position.
func sliceStats(t *Tensor, lo, hi int64) (most, filled int64) {
	if t.Dense() { // and Vals is not empty
		return t.Vals.Len / t.Levels[0].Size, hi - lo
	}
	end := t.Positions(0)
	coordinate := func(p int64) int64 {
		if t.Levels[0].Form() == tensor.Full {
			return p
		}
		return t.Levels[0].Crd.Int(p)
	}
	if t.Levels[0].Form() != tensor.Full {
		for lo > 0 && lo < hi && coordinate(lo) == coordinate(lo-1) {
			lo++
		}
		for lo < hi && hi < end && coordinate(hi) == coordinate(hi-1) {
			hi++
		}
	}
	var run, last int64
	for p := lo; p < hi; p++ {
		a, b := p, p+1
		x := coordinate(p)
		if x < 0 {
			continue
		}
		for l := 1; l < len(t.Levels); l++ {
			lev := &t.Levels[l]
			switch t.Levels[l].Form() {
			case tensor.Full:
				a, b = a*lev.Size, b*lev.Size
			case tensor.Segmented:
				a, b = lev.Pos.Int(a), lev.Pos.Int(b)
			case tensor.Single:
				if b == a+1 && lev.Kind.IsPadded() && lev.Crd.Int(a) < 0 {
					b = a
				}
			}
		}
		if a == b {
			continue
		}
		if run > 0 && x == last {
			run += b - a
		} else {
			run, last = b-a, x
			filled++
		}
		most = max(most, run)
	}
	return most, filled
}
