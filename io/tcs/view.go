package tcs

import (
	"distaff/io/tensor"
	"fmt"
	"slices"
)

// Block selects a part of a tensor. Several criteria can be combined:
//
//   - Box, if not nil, is a half-open range for each mode, inside the tensor's own box.
//   - If Cut is true, the part has only the positions [Lo, Hi) of one level. The field Level is the
//     number of this level, or -1 for the last level.
//   - If the keys From and To are not nil, the part has only the entries from the key From up to,
//     but without, the key To, in storage order. If one key is nil, the part has no bound on that
//     side. With a key, Box must contain all entries of the part, and Cut must be false.
//
// Splits, if not nil, says for each mode which block of a split tensor the part is.
type Block struct {
	Box      [][2]int64
	Splits   []Split
	Cut      bool
	Level    int
	Lo, Hi   int64
	From, To []int64
}

// View returns the part b of the tensor as a view, which uses the memory of t. The view holds the
// memory, so t and the view may be closed in either order. Level sizes, dense offsets and positions
// stay the same as in t.
//
// The arrays of the view are slices of the arrays of t. The slices may also contain entries outside
// the box of the view. One kind of array is copied: a pos array of a single segment that reaches
// past the coordinates in the view.
//
// If t is in memory, View reads O(order) elements and does a few binary searches. If t is read on
// demand, View reads all elements of the view. In each pos array, View checks at most the first and
// the last element that it keeps.
func (t *Tensor) View(b Block) (*Tensor, error) {
	v := &Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals,
		part: t.part || b.Cut || b.keyed(), edges: t.edges || b.Cut || b.keyed(),
		source: t.source, demand: t.demand}
	v.validated.Store(t.validated.Load())
	if b.Box != nil {
		if len(b.Box) != len(t.Header.Dims) {
			return nil, &Error{Exit: exitCommand,
				Msg: fmt.Sprintf("a box of %s for a tensor of %d", tensor.Count(len(b.Box), "mode"),
					len(t.Header.Dims))}
		}
		v.Header.Box = slices.Clone(b.Box)
		for m, r := range b.Box {
			if own := t.Header.Range(m); r[0] > r[1] || r[0] < own[0] || r[1] > own[1] {
				return nil, &Error{Exit: exitCommand,
					Msg: fmt.Sprintf("block [%d,%d) of mode %d is outside [%d,%d)", r[0], r[1], m,
						own[0], own[1])}
			}
		}
	}
	v.part = v.part || b.Box != nil && !slices.Equal(t.Header.boxes(), v.Header.Box)
	if b.Splits != nil {
		v.Header.Splits = slices.Clone(b.Splits)
	}
	var spans [][2]int64
	if b.keyed() {
		var err error
		if spans, err = t.keySpans(&b); err != nil {
			return nil, err
		}
		if n := max(len(b.From), len(b.To)); !t.KeysViewable(n) {
			b.Cut, b.Level, b.Lo, b.Hi, spans = true, n-1, spans[n-1][0], spans[n-1][1], nil
		}
	}
	cut := b.Level
	if cut < 0 {
		cut = len(t.Levels) - 1
	}
	lo, hi := int64(0), int64(1) // positions of the level above
	var err error
	for l := range v.Levels {
		if lo, hi, err = v.Levels[l].partitioner().fromParent(v, l, lo, hi); err != nil {
			return nil, err
		}
		if l < len(spans) {
			lo, hi = v.showSpan(l, lo, hi, spans[l])
		}
		if b.Cut && l == cut {
			lo, hi = max(lo, b.Lo), min(hi, b.Hi)
			hi = max(lo, hi)
			v.cutAt(l, lo, hi)
		}
	}
	lo, hi = clampTo(v.Vals, lo, hi)
	v.Vals = v.Vals.Sub(lo-v.Vals.First, hi-v.Vals.First)
	if err := v.needShown(); err != nil {
		return nil, err
	}
	v.demand = nil
	v.Share(t)
	// A level with a single segment gets a pos array of its own if the segment was cut.
	for l := range v.Levels {
		if v.Levels[l].Pos.Len == 2 {
			if err := v.ownPos(l, nil); err != nil {
				v.Close()
				return nil, err
			}
		}
	}
	return v, nil
}

// Alias returns a second tensor over the same memory. The alias holds the memory, so t and the
// alias may be closed in either order.
func (t *Tensor) Alias() *Tensor {
	v := &Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals,
		held: slices.Clone(t.held), part: t.part, edges: t.edges, source: t.source,
		demand: t.demand}
	v.passed.Store(t.passed.Load())
	v.validated.Store(t.validated.Load())
	for _, m := range v.held {
		m.Retain()
	}
	return v
}

// OwnEdges makes the pos arrays of a view fit its coordinates. If segments of a pos array reach
// past the coordinates in the view, a copy with clamped segments replaces the array. Readers of the
// view then need not clamp segments. The copies are counted by limit.
func (t *Tensor) OwnEdges(limit *Limit) error {
	for l := range t.Levels {
		if err := t.ownPos(l, limit); err != nil {
			return err
		}
	}
	t.edges = false
	return nil
}

// ownPos makes the pos array of level l fit the view's coordinates, as OwnEdges describes. A copy
// of the array is counted by limit.
func (t *Tensor) ownPos(l int, limit *Limit) error {
	lev := &t.Levels[l]
	n := lev.Pos.Len
	lo, hi := lev.Crd.First, lev.Crd.First+lev.Crd.Len
	if n == 0 || lev.Pos.Int(0) >= lo && lev.Pos.Int(n-1) <= hi {
		return nil
	}
	m, err := Alloc(limit, n*int64(lev.Pos.Width), "the edges of a block")
	if err != nil {
		return err
	}
	pos := m.Array(0, n, lev.Pos.Width)
	pos.First = lev.Pos.First
	for i := range n {
		pos.SetInt(i, min(max(lev.Pos.Int(i), lo), hi))
	}
	lev.Pos = pos
	t.Own(m)
	return nil
}

// boxes returns the range that the tensor covers in each mode.
func (h *Header) boxes() [][2]int64 {
	b := make([][2]int64, len(h.Dims))
	for m := range b {
		b[m] = h.Range(m)
	}
	return b
}

// cutAt cuts level l to positions [lo, hi), and each level above it to the parents of the remaining
// positions. If the cut divides a segment, pos keeps the bounds of the whole segment. Readers clamp
// these bounds to the interval that crd has.
func (v *Tensor) cutAt(l int, lo, hi int64) {
	for ; l >= 0; l-- {
		lo, hi = v.Levels[l].partitioner().fromChild(v, l, lo, hi)
	}
}
