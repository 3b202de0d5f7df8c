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

// Find returns the first position of level len(key)-1 whose coordinates are equal to the key or
// follow the key in storage order. It considers only the positions in the level's Interval. If
// there is no such position, Find returns the end of the interval.
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

// keySpans returns, for the outer levels, the intervals of positions that have entries between the
// keys b.From and b.To. Element l of the result is the interval of level l. The result has an
// element for each coordinate of a key. If the last of these levels is dense, the result also has
// elements for the levels below it, up to and including the first level that is not dense.
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

// showSpan returns the part of [lo, hi) that is also in the interval span, and restricts the crd
// array of level l to this part. If level l is dense, it returns [lo, hi) unchanged. The levels
// below then leave out the entries outside span.
func (v *Tensor) showSpan(l int, lo, hi int64, span [2]int64) (int64, int64) {
	lev := &v.Levels[l]
	if lev.Form() == tensor.Full {
		return lo, hi
	}
	lo = min(max(lo, span[0]), hi)
	return lev.showCrd(lo, max(lo, min(hi, span[1])))
}

// KeysViewable reports whether a View with keys of n coordinates can be read like any other view.
// If it returns false, View cuts level n-1 to the positions between the keys, as with Block.Cut,
// and the result can only be read with a Cursor.
//
// KeysViewable returns false if level 0 is a singleton. Otherwise it returns true if n is 1. For n
// > 1 it looks at the first n levels and, if level n-1 is dense, at the dense levels directly below
// it. It returns false if such a level is dense and has a singleton or the values directly below
// it. The view would have entries at positions of this level that are not between the keys.
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
