package tcs

import (
	"distaff/io/tensor"
	"fmt"
)

// A key is a tuple of coordinates of the outermost levels, in storage order. At each level,
// the entries between two keys occupy an interval of positions. There are two exceptions:
// dense levels, and levels with entries inside and outside the interval below one position.

// Interval returns the half-open interval of positions of level l that t has. It can also contain
// positions without entries, and positions outside the box of t.
func (t *Tensor) Interval(l int) (lo, hi int64) {
	los, his := make([]int64, len(t.Levels)), make([]int64, len(t.Levels))
	t.intervals(los, his)
	lo, hi = 0, 1
	for k := range l + 1 { // the arrays below a level without coordinates do not give its end
		f := t.Levels[k].partitioner()
		lo, hi = f.first(t, k, lo), f.first(t, k, hi)
	}
	lo = max(lo, los[l])
	return lo, max(lo, min(hi, his[l]))
}

// Key returns the coordinates, by level, on the path from the root to position p of level l. If t
// is a view, p must be one of the view's positions. The coordinate of padding is -1.
func (t *Tensor) Key(l int, p int64) ([]int64, error) {
	key := make([]int64, l+1)
	for ; l >= 0; l-- {
		lev := &t.Levels[l]
		key[l], p = lev.partitioner().path(t, l, p)
		if x := key[l]; x >= t.Header.Dims[lev.Mode] || x < 0 && (x < -1 || lev.Form() != tensor.Single) {
			return nil, t.dataErr("level %d has coordinate %d, but its mode has size %d", l, x,
				t.Header.Dims[lev.Mode])
		}
	}
	return key, t.demandErr()
}

// Find returns the first position of level len(key)-1 that does not come before the key in storage
// order. It considers only positions that t has. If all of them come before the key, it returns the
// end of their interval.
func (t *Tensor) Find(key []int64) (int64, error) {
	lo, hi := int64(0), int64(1)
	for l, x := range key {
		a, b := t.Levels[l].partitioner().equal(t, l, lo, hi, x)
		if a >= b {
			for l++; l < len(key); l++ {
				a = t.Levels[l].partitioner().first(t, l, a)
			}
			lo = a
			break
		}
		lo, hi = a, b
	}
	first, end := t.Interval(len(key) - 1)
	return min(max(lo, first), end), t.demandErr()
}

func (b *Block) keyed() bool { return b.From != nil || b.To != nil }

// keySpans returns an interval of positions for each level: the positions with entries between the
// keys b.From and b.To. The result has an element for each level that the keys give a coordinate
// of. If the last of these levels is dense, the result also has elements for deeper levels, up to
// the first level that is not dense.
func (t *Tensor) keySpans(b *Block) ([][2]int64, error) {
	n := max(len(b.From), len(b.To))
	if n > len(t.Levels) || b.From != nil && b.To != nil && len(b.From) != len(b.To) {
		return nil, &Error{Exit: exitCommand,
			Msg: fmt.Sprintf("keys of %d and %d coordinates for a tensor of %d", len(b.From),
				len(b.To), len(t.Levels))}
	}
	lo, hi := t.Interval(n - 1)
	var err error
	if b.From != nil {
		if lo, err = t.Find(b.From); err != nil {
			return nil, err
		}
	}
	if b.To != nil {
		if hi, err = t.Find(b.To); err != nil {
			return nil, err
		}
	}
	hi = max(lo, hi)
	spans := make([][2]int64, n, len(t.Levels))
	up := &Tensor{Header: t.Header, Levels: append([]Level(nil), t.Levels...), Vals: t.Vals,
		edges: true, source: t.source, demand: t.demand}
	for l, a, b := n-1, lo, hi; l >= 0; l-- {
		spans[l] = [2]int64{a, b}
		a, b = up.Levels[l].partitioner().fromChild(up, l, a, b)
	}
	for l := n; l < len(t.Levels) && t.Levels[l-1].Form() == tensor.Full; l++ {
		f := t.Levels[l].partitioner()
		lo, hi = f.first(t, l, lo), f.first(t, l, hi)
		spans = append(spans, [2]int64{lo, hi})
	}
	return spans, t.demandErr()
}

// showSpan returns the positions of level l that are both in [lo, hi) and in span, and restricts
// the view's crd array of this level to them. If the level is dense, it returns [lo, hi) unchanged,
// because the levels below leave out the entries outside span.
func (v *Tensor) showSpan(l int, lo, hi int64, span [2]int64) (int64, int64) {
	lev := &v.Levels[l]
	if lev.Form() == tensor.Full {
		return lo, hi
	}
	lo = min(max(lo, span[0]), hi)
	return lev.showCrd(lo, max(lo, min(hi, span[1])))
}

// KeysViewable reports whether a Block with keys of n coordinates has a View that can be read like
// any other block. It returns false if level 0 is a singleton.
//
// The dense levels of such a view also have positions outside the interval between the keys. If a
// compressed level follows, these positions do no harm, because their segments are empty. If n is
// 1, they do no harm either, because the box of the block can describe the keys. But if n > 1 and
// the values or a singleton level follow directly on a dense level, each of these positions has an
// entry, which does not belong to the block. KeysViewable then returns false. View then cuts the
// positions of the keys' last level, as with Cut, and its result can only be read with a Cursor.
func (t *Tensor) KeysViewable(n int) bool {
	if form := t.Levels[0].Form(); form == tensor.Single || n == 1 {
		return form != tensor.Single // the box describes the keys of a single dense level
	}
	for l := range t.Levels {
		if l >= n && t.Levels[l-1].Form() != tensor.Full {
			break
		}
		if t.Levels[l].Form() == tensor.Full &&
			(l+1 == len(t.Levels) || t.Levels[l+1].Form() == tensor.Single) {
			return false
		}
	}
	return true
}
