package tcs

import "fmt"

// A key is a tuple of coordinates of the outermost levels, in storage order. The
// entries between two keys are a range of the positions of each level, but for those
// of dense levels and of levels that have both keys' entries under one position.

// Interval is the half-open interval of level l's positions that t shows. Of dense
// levels with others below these are whole slices.
func (t *Tensor) Interval(l int) (lo, hi int64) {
	los, his := make([]int64, len(t.Levels)), make([]int64, len(t.Levels))
	t.intervals(los, his)
	lo, hi = 0, 1
	for k := range l + 1 { // of levels without coordinates, those below do not tell the end
		f := t.Levels[k].parts()
		lo, hi = f.first(t, k, lo), f.first(t, k, hi)
	}
	lo = max(lo, los[l])
	return lo, max(lo, min(hi, his[l]))
}

// Key is the coordinates, by level, of the path from the root to position p of level l, which
// t shows: -1 for those of padding.
func (t *Tensor) Key(l int, p int64) ([]int64, error) {
	key := make([]int64, l+1)
	for ; l >= 0; l-- {
		lev := &t.Levels[l]
		key[l], p = lev.parts().path(t, l, p)
		if x := key[l]; x >= t.Dims[lev.Mode] || x < 0 && (x < -1 || lev.Form() != Single) {
			return nil, t.dataErr("level %d has coordinate %d, of a mode of %d", l, x, t.Dims[lev.Mode])
		}
	}
	return key, t.lazyErr()
}

// Find is the first of the positions that t shows of the level of the key's last
// coordinate that is not before the key in storage order, or their end.
func (t *Tensor) Find(key []int64) (int64, error) {
	lo, hi := int64(0), int64(1)
	for l, x := range key {
		a, b := t.Levels[l].parts().equal(t, l, lo, hi, x)
		if a >= b {
			for l++; l < len(key); l++ {
				a = t.Levels[l].parts().first(t, l, a)
			}
			lo = a
			break
		}
		lo, hi = a, b
	}
	first, end := t.Interval(len(key) - 1)
	return min(max(lo, first), end), t.lazyErr()
}

// lazyErr is what failed as chunks of a compressed file were decompressed.
func (t *Tensor) lazyErr() error {
	if t.lazy == nil {
		return nil
	}
	t.lazy.mu.Lock()
	defer t.lazy.mu.Unlock()
	return t.lazy.err
}

// crdAt is the coordinate of a position of level l, -1 where the file that it is read from
// fails.
func (t *Tensor) crdAt(l int, p int64) int64 {
	if t.need(l, CrdArray, p, p+1) != nil {
		return -1
	}
	return t.Levels[l].Crd.At(p)
}

func (b *Block) keyed() bool { return b.From != nil || b.To != nil }

// keySpans are, by level, the positions that have entries between two keys; of levels
// below that of the keys only those down to the first that stores coordinates.
func (t *Tensor) keySpans(b *Block) ([][2]int64, error) {
	n := max(len(b.From), len(b.To))
	if n > len(t.Levels) || b.From != nil && b.To != nil && len(b.From) != len(b.To) {
		return nil, &Error{Exit: exitCommand, Msg: fmt.Sprintf("keys of %d and %d coordinates for a tensor of %d", len(b.From), len(b.To), len(t.Levels))}
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
	up := &Tensor{Header: t.Header, Levels: append([]Level(nil), t.Levels...), Vals: t.Vals, file: t.file, lazy: t.lazy, edges: true}
	for l, a, b := n-1, lo, hi; l >= 0; l-- {
		spans[l] = [2]int64{a, b}
		a, b = up.Levels[l].parts().fromChild(up, l, a, b)
	}
	for l := n; l < len(t.Levels) && t.Levels[l-1].Form() == Full; l++ {
		f := t.Levels[l].parts()
		lo, hi = f.first(t, l, lo), f.first(t, l, hi)
		spans = append(spans, [2]int64{lo, hi})
	}
	return spans, t.lazyErr()
}

// showSpan cuts what is shown of level l's positions, [lo, hi), to a span, where the level
// stores coordinates. Positions of a dense level stay: what is below those outside of the
// span is not shown.
func (v *Tensor) showSpan(l int, lo, hi int64, span [2]int64) (int64, int64) {
	lev := &v.Levels[l]
	if lev.Form() == Full {
		return lo, hi
	}
	lo = min(max(lo, span[0]), hi)
	return lev.showCrd(lo, max(lo, min(hi, span[1])))
}

// KeysViewable tells whether a View between keys of so many coordinates can be read as any block:
// its dense levels have positions for the entries of others too, below which pos arrays then have empty
// segments. Where values or single positions are right below them, those of others stand there:
// the view is then one by positions, for cursors.
func (t *Tensor) KeysViewable(n int) bool {
	if form := t.Levels[0].Form(); form == Single || n == 1 {
		return form != Single // of a dense level alone, the box is what the keys hold
	}
	for l := range t.Levels {
		if l >= n && t.Levels[l-1].Form() != Full {
			break
		}
		if t.Levels[l].Form() == Full && (l+1 == len(t.Levels) || t.Levels[l+1].Form() == Single) {
			return false
		}
	}
	return true
}
