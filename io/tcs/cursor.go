package tcs

import (
	"distaff/io/tensor"
	"math"
)

// Cursor iterates over a tensor's entries in storage order. It skips padding, and positions outside
// the tensor's box or its arrays. Every other value below a dense level is an entry, even if it is
// zero.
//
// The cursor copies the entries in runs. A run has the entries below one parent at the run level,
// which is the deepest level that is not a singleton. In the arrays of the run level and of the
// singletons below it, the elements of a run are consecutive. So each array's elements are copied
// together. For the levels above the run level, a stack holds the current position.
type Cursor struct {
	t        *Tensor
	run      int     // the run level; -1 if there is none: one run [0,1)
	lo, hi   []int64 // for each level, the positions that the arrays show
	cur, end []int64 // for each level above run, the current position and the end
	base     []int64 // for each dense level, the position of coordinate Offset
	crd      []int64 // for each level above run, the current coordinate
	clip     []bool  // for each level, whether the box excludes some coordinates
	a, b     int64   // the positions that are left of the current run
	filter   bool    // entries of a run must be checked one by one: padding, or a clipped singleton
	started  bool
}

// Cursor returns a cursor before the first entry. The tensor's arrays must be loaded and valid.
func (t *Tensor) Cursor() *Cursor {
	n := len(t.Levels)
	buf := make([]int64, 6*n)
	c := &Cursor{t: t, run: n - 1, lo: buf[:n], hi: buf[n : 2*n], cur: buf[2*n : 3*n],
		end:  buf[3*n : 4*n],
		base: buf[4*n : 5*n], crd: buf[5*n:], clip: make([]bool, n)}
	for c.run >= 0 && t.Levels[c.run].Kind.IsSingle() {
		c.run--
	}
	t.intervals(c.lo, c.hi)
	for l, lev := range t.Levels {
		r := t.Header.Range(lev.Mode)
		if lev.Form() == tensor.Full {
			c.clip[l] = r[0] > lev.Offset || r[1] < lev.Offset+lev.Size
		} else {
			c.clip[l] = r != [2]int64{0, t.Header.Dims[lev.Mode]}
		}
		c.filter = c.filter || l > c.run && (lev.Kind.IsPadded() || c.clip[l])
	}
	// A singleton's -1 below a p level is skipped together with the -1 of the p level.
	return c
}

// intervals computes which positions of each level can be read in a view. It stores the interval of
// level l as [lo[l], hi[l]). In the last level, a position must have its value in the view. Above a
// compressed level, a position must have the bounds of its segment in the view. Above a dense level
// or a singleton, a position must have a child in the interval of that level. A dense level of size
// 0 sets no limit. If a level has a crd array, its positions must also be in the view's part of
// this array.
func (t *Tensor) intervals(lo, hi []int64) {
	l, h := t.Vals.First, t.Vals.First+t.Vals.Len
	for i := len(t.Levels) - 1; i >= 0; i-- {
		lev := &t.Levels[i]
		if lev.Form() != tensor.Full {
			l, h = max(l, lev.Crd.First), min(h, lev.Crd.First+lev.Crd.Len)
		}
		lo[i], hi[i] = l, h
		switch lev.Form() {
		case tensor.Full:
			if lev.Size == 0 {
				l, h = 0, math.MaxInt64
			} else {
				l, h = l/lev.Size, (h+lev.Size-1)/lev.Size
			}
		case tensor.Segmented:
			l, h = lev.Pos.First, lev.Pos.First+lev.Pos.Len-1
		}
	}
}

// open returns the interval [a, b) of the positions of level l that are children of position p of
// the level above. It leaves out positions that the view does not have. If level l is dense, open
// also sets c.base[l].
func (c *Cursor) open(l int, p int64) (a, b int64) {
	lev := &c.t.Levels[l]
	switch lev.Form() {
	case tensor.Full:
		c.base[l] = p * lev.Size
		a, b = c.base[l], c.base[l]+lev.Size
		if c.clip[l] {
			r := c.t.Header.Range(lev.Mode)
			a, b = max(a, c.base[l]+r[0]-lev.Offset), min(b, c.base[l]+r[1]-lev.Offset)
		}
	case tensor.Segmented:
		q := p - lev.Pos.First
		if q < 0 || q+1 >= lev.Pos.Len {
			return 0, 0
		}
		a, b = max(lev.Pos.Int(q), c.lo[l]), min(lev.Pos.Int(q+1), c.hi[l])
		if c.clip[l] && a < b {
			r := c.t.Header.Range(lev.Mode)
			f := lev.Crd.First
			a = f + lev.Crd.search(a-f, b-f, r[0])
			b = f + lev.Crd.search(a-f, b-f, r[1])
		}
		return a, b
	case tensor.Single:
		a, b = p, p+1
	}
	return max(a, c.lo[l]), min(b, c.hi[l])
}

// at computes the coordinate of level l from the current position, and stores it in c. It returns
// false if the position is padding or outside the box.
func (c *Cursor) at(l int) bool {
	lev := &c.t.Levels[l]
	switch lev.Form() {
	case tensor.Full:
		c.crd[l] = lev.Offset + c.cur[l] - c.base[l]
	case tensor.Segmented:
		c.crd[l] = lev.Crd.At(c.cur[l])
	case tensor.Single:
		x := lev.Crd.At(c.cur[l])
		c.crd[l] = x
		r := c.t.Header.Range(lev.Mode)
		return x >= r[0] && x < r[1]
	}
	return true
}

// nextRun advances to the next run that is not empty. It returns false at the end.
func (c *Cursor) nextRun() bool {
	l := c.run - 1
	if !c.started {
		c.started = true
		if c.t.Vals.Len == 0 { // don't iterate over dense levels above a level of size 0
			c.run = 0
			return false
		}
		if c.run < 0 {
			c.a, c.b = 0, 1
			return c.t.Vals.Len > 0
		}
		if c.run == 0 {
			c.a, c.b = c.open(0, 0)
			return c.a < c.b
		}
		c.cur[0], c.end[0] = c.open(0, 0)
		l = 0
	} else {
		if l < 0 {
			return false
		}
		c.cur[l]++
	}
	for {
		if c.cur[l] >= c.end[l] {
			if l--; l < 0 {
				return false
			}
			c.cur[l]++
			continue
		}
		if !c.at(l) {
			c.cur[l]++
			continue
		}
		if l+1 < c.run {
			l++
			c.cur[l], c.end[l] = c.open(l, c.cur[l-1])
			continue
		}
		if c.a, c.b = c.open(c.run, c.cur[l]); c.a < c.b {
			return true
		}
		c.cur[l]++
	}
}

// Next reads entries and returns their number: at most len(index), or 0 at the end. For entry k it
// stores the coordinate of mode m in coords[m][k], and the index in Vals, counted from its Ptr, in
// index[k].
func (c *Cursor) Next(coords [][]int64, index []int64) int {
	n := 0
	for n < len(index) {
		if c.a >= c.b && !c.nextRun() {
			break
		}
		k := int(min(c.b-c.a, int64(len(index)-n)))
		c.emit(coords, index[n:n+k], n)
		c.a += int64(k)
		if c.filter {
			k = c.compact(coords, index, n, k)
		}
		n += k
	}
	return n
}

// emit copies the next len(index) entries of the current run to coords and index. The first entry
// becomes element n of each column of coords.
func (c *Cursor) emit(coords [][]int64, index []int64, n int) {
	k := len(index)
	for l := range c.t.Levels {
		lev := &c.t.Levels[l]
		dst := coords[lev.Mode][n : n+k]
		switch {
		case l < c.run:
			x := c.crd[l]
			for i := range dst {
				dst[i] = x
			}
		case lev.Form() == tensor.Full:
			x := lev.Offset + c.a - c.base[l]
			for i := range dst {
				dst[i] = x + int64(i)
			}
		default:
			lev.Crd.Ints(dst, c.a-lev.Crd.First)
		}
	}
	p := c.a - c.t.Vals.First
	for i := range index {
		index[i] = p + int64(i)
	}
}

// compact removes padding and entries outside the box from coords and index. It looks at the k
// entries that start at element n. It returns how many of them are left.
func (c *Cursor) compact(coords [][]int64, index []int64, n, k int) int {
	w := n
next:
	for i := n; i < n+k; i++ {
		for l := max(c.run+1, 0); l < len(c.t.Levels); l++ {
			m := c.t.Levels[l].Mode
			r := c.t.Header.Range(m)
			if x := coords[m][i]; x < r[0] || x >= r[1] {
				continue next
			}
		}
		if w != i {
			for m := range c.t.Header.Dims {
				coords[m][w] = coords[m][i]
			}
			index[w] = index[i]
		}
		w++
	}
	return w - n
}

// Entries calls yield for every entry in storage order, until yield returns false. coords are
// the entry's coordinates by mode, valid during the call only. i is the index in Vals, counted
// from its Ptr. Cursor defines which positions are entries.
func (t *Tensor) Entries(yield func(coords []int64, i int64) bool) {
	const batch = 512
	cols := columns(len(t.Levels), batch)
	index := make([]int64, batch)
	crd := make([]int64, len(t.Levels))
	for c := t.Cursor(); ; {
		k := c.Next(cols, index)
		if k == 0 {
			return
		}
		for i := range k {
			for m := range crd {
				crd[m] = cols[m][i]
			}
			if !yield(crd, index[i]) {
				return
			}
		}
	}
}

// columns returns a slice of the given length for each of n modes.
func columns(n, length int) [][]int64 {
	c := make([][]int64, n)
	for m := range c {
		c[m] = make([]int64, length)
	}
	return c
}
