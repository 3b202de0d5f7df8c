package assemble

import (
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/transfer"
)

// restrict returns the restriction of a tensor to a region that the tensor contains. If possible it
// is a view of the tensor; otherwise it is a copy, and copied is true. The restriction of a dense
// tensor has the values of the region's box.
func restrict(t *tcs.Tensor, r Region, name string, alloc transfer.Alloc) (part *tcs.Tensor,
	copied bool, err error) {
	if t.Dense() {
		return DensePart(t, r.Box, name, alloc)
	}
	if b, ok := viewFor(t, r); ok {
		v, err := t.View(b)
		return v, false, err
	}
	part, err = copyPart(t, r, name, alloc)
	return part, true, err
}

// viewFor returns a block such that t.View of this block has exactly the entries of t in region r.
// It returns false if no block has this property. A view can restrict t in two ways: the outermost
// level to a range of coordinates, and the entries to an interval between two keys in storage
// order.
func viewFor(t *tcs.Tensor, r Region) (tcs.Block, bool) {
	b := tcs.Block{Box: r.Box}
	n := max(len(r.From), len(r.To))
	if n > 0 && !t.KeysViewable(n) {
		return b, false
	}
	modes := t.Format().Order
	all := Region{Box: boxOf(t), From: r.From, To: r.To}
	all.Box[modes[0]] = r.Box[modes[0]]
	if all, ok := all.common(all, modes); !ok || !all.equal(r) {
		return b, false
	}
	b.From, b.To = padded(r.From, n), padded(r.To, n)
	return b, true
}

// padded appends zeros to key until it has n coordinates. The longer key bounds the same tuples.
// padded returns nil if key is nil.
func padded(key []int64, n int) []int64 {
	if key == nil {
		return nil
	}
	return append(slices.Clone(key), make([]int64, n-len(key))...)
}

// DensePart returns the restriction of a dense tensor to a box: a view if the values are
// contiguous, otherwise a copy. The caller must close it.
func DensePart(t *tcs.Tensor, box [][2]int64, name string, alloc transfer.Alloc) (part *tcs.Tensor,
	copied bool, err error) {
	r := Region{Box: box}
	v, err := t.View(tcs.Block{Box: box})
	if err != nil || v.Vals.Len == r.coordinates() {
		return v, false, err
	}
	defer v.Close()
	part, err = newDense(transfer.LikeOf(name, t), box, alloc)
	if err == nil {
		copyRuns(r, part, t)
	}
	return part, true, err
}

// copier copies the restriction of a tensor with dense and compressed levels to a region, in two
// passes: the first counts, the second fills the copy. A coordinate of a compressed level is copied
// if there is an entry below it in the region.
type copier struct {
	t        *tcs.Tensor
	r        Region
	deep     int         // the last compressed level
	out      *tcs.Tensor // nil during the first pass
	runs     *runs       // the values below a position of level deep, of t in out
	row      int64       // the number of these values
	n        []int64     // by level, the number of coordinates of a compressed level so far
	segments []int64     // by level, the number of segments so far
	// by level, copies of segments, to be restored if the current coordinate is dropped
	saved [][]int64
}

func copyPart(t *tcs.Tensor, r Region, name string, alloc transfer.Alloc) (*tcs.Tensor, error) {
	c := &copier{t: t, r: r, row: 1, n: make([]int64, len(t.Levels)),
		segments: make([]int64, len(t.Levels))}
	for l := range t.Levels {
		c.saved = append(c.saved, make([]int64, len(t.Levels)))
		if t.Levels[l].Form() != tensor.Full {
			c.deep = l
		}
	}
	for _, lev := range t.Levels[c.deep+1:] {
		c.row *= r.Box[lev.Mode][1] - r.Box[lev.Mode][0]
	}
	c.below(0, 0, r.edge())
	if err := c.allocate(name, alloc); err != nil {
		return nil, err
	}
	c.runs = newRuns(r, c.out, t)
	clear(c.n)
	clear(c.segments)
	for l := range c.out.Levels {
		if c.out.Levels[l].Form() != tensor.Full {
			c.out.Levels[l].Pos.SetInt(0, 0)
		}
	}
	c.below(0, 0, r.edge())
	c.out.Trust()
	return c.out, nil
}

// allocate allocates the copy's arrays for the counted coordinates, with the widths of the tensor's
// arrays.
func (c *copier) allocate(name string, alloc transfer.Alloc) error {
	t := &tcs.Tensor{Header: tcs.Header{Dims: c.t.Header.Dims, Box: slices.Clone(c.r.Box),
		Type: c.t.Header.Type}, Levels: slices.Clone(c.t.Levels)}
	var arrays []*tcs.Array
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Form() == tensor.Full {
			b := t.Header.Box[lev.Mode]
			lev.Offset, lev.Size = b[0], b[1]-b[0]
			continue
		}
		lev.Pos = tcs.Array{Len: c.segments[l] + 1, Width: lev.Pos.Width}
		lev.Crd = tcs.Array{Len: c.n[l], Width: lev.Crd.Width}
		arrays = append(arrays, &lev.Pos, &lev.Crd)
	}
	t.Vals = tcs.Array{Len: c.n[c.deep] * c.row, Width: c.t.Vals.Width}
	arrays = append(arrays, &t.Vals)
	bytes := int64(0)
	for _, a := range arrays {
		bytes = aligned(bytes) + a.Len*int64(a.Width)
	}
	mem, err := alloc(bytes, "a part of "+name)
	if err != nil {
		return err
	}
	at := int64(0)
	for _, a := range arrays {
		at = aligned(at)
		*a = mem.Array(at, a.Len, a.Width)
		at += a.Len * int64(a.Width)
	}
	t.Hold(mem)
	c.out = t
	return mem.Release() // the tensor holds it
}

func aligned(n int64) int64 { return (n + tcs.Align - 1) &^ (tcs.Align - 1) }

// below copies everything below position p of the level above l. It reports whether there is any
// entry.
func (c *copier) below(l int, p int64, e edge) bool {
	if c.t.Levels[l].Form() == tensor.Full {
		return c.dense(l, p, e)
	}
	return c.compressed(l, p, e)
}

// dense copies everything below position p of the level above l, where level l is dense. It reports
// whether there was any entry. Coordinates of the box that are outside of the region's keys get no
// entries in the copy.
func (c *copier) dense(l int, p int64, e edge) bool {
	lev := &c.t.Levels[l]
	lo, hi := c.r.span(l, lev.Mode, e)
	some := false
	for x := c.r.Box[lev.Mode][0]; x < c.r.Box[lev.Mode][1]; x++ {
		if x < lo || x >= hi {
			c.addEmpty(l + 1)
		} else if c.below(l+1, p*lev.Size+x-lev.Offset, c.r.below(l, x, e)) {
			some = true
		}
	}
	return some
}

// addEmpty records that a position of the level above l has no entries below it. It adds the empty
// segments that the compressed levels, from level l on, need for this position.
func (c *copier) addEmpty(l int) {
	lev := &c.t.Levels[l]
	if lev.Form() != tensor.Full {
		c.end(l)
		return
	}
	for x := c.r.Box[lev.Mode][0]; x < c.r.Box[lev.Mode][1]; x++ {
		c.addEmpty(l + 1)
	}
}

// compressed copies everything below position p of the level above l, where level l is compressed.
// It drops each coordinate of the segment that has no entries below it in the region. It reports
// whether there was any entry.
func (c *copier) compressed(l int, p int64, e edge) bool {
	lev := &c.t.Levels[l]
	lo, hi := c.r.span(l, lev.Mode, e)
	first := c.n[l]
	q, end := max(lev.Pos.At(p), lev.Crd.First), min(lev.Pos.At(p+1), lev.Crd.First+lev.Crd.Len)
	for ; q < end; q++ {
		x := lev.Crd.At(q)
		if x >= hi {
			break
		}
		if x < lo {
			continue
		}
		if l < c.deep && !c.copyOrDrop(l, q, c.r.below(l, x, e)) {
			continue
		}
		if c.out != nil {
			c.out.Levels[l].Crd.SetInt(c.n[l], x)
			if l == c.deep {
				c.values(q, c.r.below(l, x, e))
			}
		}
		c.n[l]++
	}
	c.end(l)
	return c.n[l] > first
}

// copyOrDrop copies everything below position q of level l, and reports whether there was any
// entry. If there was none, it removes the empty segments that it added to deeper levels, because
// the caller drops the coordinate.
func (c *copier) copyOrDrop(l int, q int64, e edge) bool {
	copy(c.saved[l], c.segments)
	some := c.below(l+1, q, e)
	if !some {
		copy(c.segments[l+1:], c.saved[l][l+1:])
	}
	return some
}

// end records the end of a segment of level l. The first pass only counts segments, and the second
// pass stores their ends in pos. A coordinate without entries below it is dropped, and the segments
// below it are not counted. In the second pass, such a segment may come after the last counted one.
// end does not store its end then, because pos has no room for it.
func (c *copier) end(l int) {
	c.segments[l]++
	if c.out != nil && c.segments[l] < c.out.Levels[l].Pos.Len {
		c.out.Levels[l].Pos.SetInt(c.segments[l], c.n[l])
	}
}

// values copies the values below position q of the last compressed level.
func (c *copier) values(q int64, e edge) {
	to := c.n[c.deep]
	if !e.open() { // some elements of the box are outside the region
		size := int64(c.out.Vals.Width)
		clear(c.out.Vals.Bytes()[to*c.row*size : (to+1)*c.row*size])
	}
	c.runs.walk(c.deep+1, e, to, q, func(to, from, n int64) { copyValues(c.out, to, c.t, from, n) })
}
