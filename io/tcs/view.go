package tcs

import (
	"fmt"
	"slices"
)

// Block picks a part of a tensor. Box, if not nil, is a half-open range a mode,
// inside the tensor's own. If Cut, positions outside [Lo, Hi) of level Level
// (-1: of the values, which is the last level) are left out too, and with keys, From
// or To, what lies before From, or not before To, in storage order: Box then
// holds what does not, and there is no Cut.
type Block struct {
	Box      [][2]int64
	Splits   []Split
	Cut      bool
	Level    int
	Lo, Hi   int64
	From, To []int64
}

// View is the tensor's part b, over the same memory, which it holds: each may
// be closed before the other. Level sizes, dense offsets and positions stay
// those of t; the arrays are the smallest contiguous slices that hold the
// block, and may hold more than its box. It reads O(order) elements and a few
// binary searches; positions that it reads are checked.
func (t *Tensor) View(b Block) (*Tensor, error) {
	v := &Tensor{Header: t.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals, part: t.part || b.Cut || b.keyed(), edges: t.edges || b.Cut || b.keyed(), lazy: t.lazy}
	v.validated.Store(t.validated.Load())
	v.file = t.file
	if b.Box != nil {
		if len(b.Box) != len(t.Dims) {
			return nil, &Error{Exit: exitCommand, Msg: fmt.Sprintf("a box of %s for a tensor of %d", Count(len(b.Box), "mode"), len(t.Dims))}
		}
		v.Box = slices.Clone(b.Box)
		for m, r := range b.Box {
			if own := t.Range(m); r[0] > r[1] || r[0] < own[0] || r[1] > own[1] {
				return nil, &Error{Exit: exitCommand, Msg: fmt.Sprintf("block [%d,%d) of mode %d is outside [%d,%d)", r[0], r[1], m, own[0], own[1])}
			}
		}
	}
	v.part = v.part || b.Box != nil && !slices.Equal(t.boxes(), v.Box)
	if b.Splits != nil {
		v.Splits = slices.Clone(b.Splits)
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
	lo, hi := int64(0), int64(1) // the positions of the level above
	var err error
	for l := range v.Levels {
		if lo, hi, err = v.Levels[l].parts().fromParent(v, l, lo, hi); err != nil {
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
	v.lazy = nil
	v.Share(t)
	// A single segment that was cut gets a pos array of its own.
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

// Alias is the tensor again, over the same memory, which it holds: each may be
// closed before the other.
func (t *Tensor) Alias() *Tensor {
	v := &Tensor{Header: t.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals, held: slices.Clone(t.held), file: t.file, part: t.part, edges: t.edges, lazy: t.lazy}
	v.passed.Store(t.passed.Load())
	v.validated.Store(t.validated.Load())
	for _, m := range v.held {
		m.Retain()
	}
	return v
}

// OwnEdges gives the view pos arrays of its own wherever a segment at an end
// reaches past the coordinates that the view shows, cut to those, so that no
// reader need clamp. It copies those arrays, counted against limit.
func (t *Tensor) OwnEdges(limit *Limit) error {
	for l := range t.Levels {
		if err := t.ownPos(l, limit); err != nil {
			return err
		}
	}
	t.edges = false
	return nil
}

// ownPos replaces level l's pos by a copy cut to its crd, where it reaches past.
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
	t.held = append(t.held, m)
	return nil
}

// boxes are the ranges of all modes.
func (h *Header) boxes() [][2]int64 {
	b := make([][2]int64, len(h.Dims))
	for m := range b {
		b[m] = h.Range(m)
	}
	return b
}

// cutAt cuts level l to positions [lo, hi), and the levels above to the parents
// of those. A segment that the cut divides stays in pos whole: who reads it
// clamps it to the interval that crd shows.
func (v *Tensor) cutAt(l int, lo, hi int64) {
	for ; l >= 0; l-- {
		lo, hi = v.Levels[l].parts().fromChild(v, l, lo, hi)
	}
}
