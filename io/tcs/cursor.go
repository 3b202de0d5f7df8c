package tcs

import "math"

// Cursor walks a tensor's entries in storage order, in runs. It skips padding
// and what lies outside the tensor's box or its arrays. Values of dense levels
// are all entries, also where they are zero.
//
// The run level is the deepest that is no singleton: along it, and in the
// singletons below, consecutive positions are consecutive elements, so that a
// run is copied column by column; the levels above are walked by a stack.
type Cursor struct {
	t        *Tensor
	run      int     // -1: none, the single run [0,1)
	lo, hi   []int64 // a level, the positions that the arrays show
	cur, end []int64 // a level above run, where the walk stands
	base     []int64 // a dense level, the position of coordinate Offset
	crd      []int64 // a level above run, its current coordinate
	clip     []bool  // a level, whether its mode's box cuts anything off
	a, b     int64   // what is left of the current run
	filter   bool    // singletons at or below run need looking at one by one
	started  bool
}

// Cursor starts a walk. The tensor's arrays must be loaded and valid.
func (t *Tensor) Cursor() *Cursor {
	n := len(t.Levels)
	buf := make([]int64, 6*n)
	c := &Cursor{t: t, run: n - 1, lo: buf[:n], hi: buf[n : 2*n], cur: buf[2*n : 3*n], end: buf[3*n : 4*n],
		base: buf[4*n : 5*n], crd: buf[5*n:], clip: make([]bool, n)}
	for c.run >= 0 && Singleton(t.Levels[c.run].Kind) {
		c.run--
	}
	t.intervals(c.lo, c.hi)
	for l, lev := range t.Levels {
		r := t.Range(lev.Mode)
		if lev.Form() == Full {
			c.clip[l] = r[0] > lev.Offset || r[1] < lev.Offset+lev.Size
		} else {
			c.clip[l] = r != [2]int64{0, t.Dims[lev.Mode]}
		}
		c.filter = c.filter || l > c.run && (KindOf(lev.Kind).Padded || c.clip[l])
	}
	// Below a p, a singleton's -1 is skipped with its parent's.
	return c
}

// intervals computes for every level the half-open interval of positions that
// the arrays of it and of all below show.
func (t *Tensor) intervals(lo, hi []int64) {
	l, h := t.Vals.First, t.Vals.First+t.Vals.Len
	for i := len(t.Levels) - 1; i >= 0; i-- {
		lev := &t.Levels[i]
		if lev.Form() != Full {
			l, h = max(l, lev.Crd.First), min(h, lev.Crd.First+lev.Crd.Len)
		}
		lo[i], hi[i] = l, h
		switch lev.Form() {
		case Full:
			if lev.Size == 0 {
				l, h = 0, math.MaxInt64
			} else {
				l, h = l/lev.Size, (h+lev.Size-1)/lev.Size
			}
		case Segmented:
			l, h = lev.Pos.First, lev.Pos.First+lev.Pos.Len-1
		}
	}
}

// open sets level l to the children of position p of the level above.
func (c *Cursor) open(l int, p int64) (a, b int64) {
	lev := &c.t.Levels[l]
	switch lev.Form() {
	case Full:
		c.base[l] = p * lev.Size
		a, b = c.base[l], c.base[l]+lev.Size
		if c.clip[l] {
			r := c.t.Range(lev.Mode)
			a, b = max(a, c.base[l]+r[0]-lev.Offset), min(b, c.base[l]+r[1]-lev.Offset)
		}
	case Segmented:
		q := p - lev.Pos.First
		if q < 0 || q+1 >= lev.Pos.Len {
			return 0, 0
		}
		a, b = max(lev.Pos.Int(q), c.lo[l]), min(lev.Pos.Int(q+1), c.hi[l])
		if c.clip[l] && a < b {
			r := c.t.Range(lev.Mode)
			f := lev.Crd.First
			a = f + lev.Crd.search(a-f, b-f, r[0])
			b = f + lev.Crd.search(a-f, b-f, r[1])
		}
		return a, b
	case Single:
		a, b = p, p+1
	}
	return max(a, c.lo[l]), min(b, c.hi[l])
}

// at sets level l's coordinate from its position; false if it is padding or
// outside the box.
func (c *Cursor) at(l int) bool {
	lev := &c.t.Levels[l]
	switch lev.Form() {
	case Full:
		c.crd[l] = lev.Offset + c.cur[l] - c.base[l]
	case Segmented:
		c.crd[l] = lev.Crd.At(c.cur[l])
	case Single:
		x := lev.Crd.At(c.cur[l])
		c.crd[l] = x
		r := c.t.Range(lev.Mode)
		return x >= r[0] && x < r[1]
	}
	return true
}

// nextRun finds the next run that is not empty.
func (c *Cursor) nextRun() bool {
	l := c.run - 1
	if !c.started {
		c.started = true
		if c.t.Vals.Len == 0 { // dense levels above one of size 0 are long ways to nothing
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

// Next fills coords[m][k] with the coordinate in mode m, and index[k] with the
// index in Vals (counted from its Ptr), of the next entries k, at most
// len(index), and returns how many. 0 is the end.
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

// emit writes the entries of positions [a, a+len(index)) of the run level from
// element n on.
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
		case lev.Form() == Full:
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

// compact drops the padding and what is outside the box from the last k
// entries, and returns how many stay.
func (c *Cursor) compact(coords [][]int64, index []int64, n, k int) int {
	w := n
next:
	for i := n; i < n+k; i++ {
		for l := max(c.run+1, 0); l < len(c.t.Levels); l++ {
			m := c.t.Levels[l].Mode
			r := c.t.Range(m)
			if x := coords[m][i]; x < r[0] || x >= r[1] {
				continue next
			}
		}
		if w != i {
			for m := range c.t.Dims {
				coords[m][w] = coords[m][i]
			}
			index[w] = index[i]
		}
		w++
	}
	return w - n
}

// Entries calls yield with the coordinates by mode (valid for the call only)
// and the index in Vals, counted from its Ptr, of every entry in storage order,
// until it returns false. See Cursor for what counts as an entry.
func (t *Tensor) Entries(yield func(coords []int64, i int64) bool) {
	const batch = 512
	n := len(t.Dims)
	cols := make([][]int64, n)
	for m := range cols {
		cols[m] = make([]int64, batch)
	}
	index := make([]int64, batch)
	crd := make([]int64, n)
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
