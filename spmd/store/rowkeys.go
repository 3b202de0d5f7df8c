package store

import (
	"sort"

	"distaff/io/tcs"
)

// hasNoEmptySegment reports whether every segment of the levels below level l has a coordinate. l
// is the first compressed level of b.
func hasNoEmptySegment(b *tcs.Tensor, l int) bool {
	for l++; l < len(b.Levels); l++ {
		pos := b.Levels[l].Pos
		ok := false
		if pos.Width == 4 {
			ok = isIncreasing(tcs.Slice[int32](pos))
		} else {
			ok = isIncreasing(tcs.Slice[int64](pos))
		}
		if !ok {
			return false
		}
	}
	return true
}

func isIncreasing[T int32 | int64](pos []T) bool {
	if len(pos) == 0 {
		return true
	}
	last, less := pos[0], T(0)
	for _, p := range pos[1:] {
		less |= p - last - 1
		last = p
	}
	return less >= 0
}

// rowsBefore returns the number of rows of block k whose keys are less than bound. This rank must
// have the block. The caller must know that the keys of the first `lower` rows are less than bound.
func (x *rows) rowsBefore(k int, lower, bound int64) int64 {
	if !x.isListed() {
		return max(lower, x.f.before(x.t.Boxes[k], bound))
	}
	b := x.t.Own[k]
	n := b.Levels[x.row].Crd.Len - lower
	return lower + int64(sort.Search(int(n), func(i int) bool {
		var at [1]int64
		x.keys(at[:], b, lower+int64(i))
		return at[0] >= bound
	}))
}

// keys sets dst to the keys of a block's listed rows, starting with row lo.
func (x *rows) keys(dst []int64, b *tcs.Tensor, lo int64) {
	if len(dst) == 0 {
		return
	}
	// By level: the node above the next row, and the first key below that node.
	at, base := make([]int64, x.row+1), make([]int64, x.row+1)
	row := &b.Levels[x.row]
	at[x.row] = row.Crd.First + lo
	top := int64(0) // the position in the dense levels
	for l := x.row; l >= x.dense; l-- {
		pos := b.Levels[l].Pos
		p := pos.First + after(pos, at[l]) - 1
		if l > x.dense {
			at[l-1] = p
		} else {
			top = p
		}
	}
	under := x.firstKey(b, top)
	parent := func(l int) (p, key int64) {
		if l == x.dense {
			return top, under
		}
		return at[l-1], base[l-1]
	}
	for l := x.dense; l < x.row; l++ {
		_, key := parent(l)
		base[l] = key + b.Levels[l].Crd.At(at[l])*x.f.stride[l]
	}
	var next func(l int) // advances to the next node of level l
	next = func(l int) {
		if l < x.dense {
			top++
			under = x.firstKey(b, top)
			return
		}
		at[l]++
		for p, _ := parent(l); b.Levels[l].Pos.At(p+1) <= at[l]; p, _ = parent(l) {
			next(l - 1)
		}
		_, key := parent(l)
		base[l] = key + b.Levels[l].Crd.At(at[l])*x.f.stride[l]
	}
	for done := int64(0); ; {
		p, key := parent(x.row)
		from := at[x.row] - row.Crd.First
		to := min(row.Pos.At(p+1)-row.Crd.First, from+int64(len(dst))-done)
		addTo(dst[done:], row.Crd.Sub(from, to), key)
		if done += to - from; done == int64(len(dst)) {
			return
		}
		at[x.row] = row.Crd.First + to
		for p, _ := parent(x.row); row.Pos.At(p+1) <= at[x.row]; p, _ = parent(x.row) {
			next(x.row - 1)
		}
	}
}

// firstKey returns the smallest key under a position of the last leading dense level of block b.
func (x *rows) firstKey(b *tcs.Tensor, position int64) int64 {
	key := int64(0)
	for l := x.dense - 1; l >= 0; l-- {
		lev, c := &b.Levels[l], position
		if l > 0 {
			c, position = position%lev.Size, position/lev.Size
		}
		key += (lev.Offset + c) * x.f.stride[l]
	}
	return key
}

// addTo sets dst to the coordinates plus base.
func addTo(dst []int64, crd tcs.Array, base int64) {
	if crd.Width == 4 {
		sums(dst, tcs.Slice[int32](crd), base)
	} else {
		sums(dst, tcs.Slice[int64](crd), base)
	}
}

func sums[T int32 | int64](dst []int64, crd []T, base int64) {
	dst = dst[:len(crd)]
	for i, c := range crd {
		dst[i] = base + int64(c)
	}
}
