package tcs

import (
	"fmt"
	"slices"
)

// Block picks a part of a tensor. Box, if not nil, is a half-open range a mode,
// inside the tensor's own. If Cut, positions outside [Lo, Hi) of level Level
// (-1: of the values, which is the last level) are left out too.
type Block struct {
	Box    [][2]int64
	Splits []Split
	Cut    bool
	Level  int
	Lo, Hi int64
}

// View is the tensor's part b, over the same memory, which it holds: each may
// be closed before the other. Level sizes, dense offsets and positions stay
// those of t; the arrays are the smallest contiguous slices that hold the
// block, and may hold more than its box. It reads O(order) elements and a few
// binary searches; positions that it reads are checked.
func (t *Tensor) View(b Block) (*Tensor, error) {
	v := &Tensor{Header: t.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals, part: t.part || b.Cut, edges: t.edges || b.Cut, lazy: t.lazy}
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
	cut := b.Level
	if cut < 0 {
		cut = len(t.Levels) - 1
	}
	lo, hi := int64(0), int64(1) // the positions of the level above
	var err error
	for l := range v.Levels {
		if lo, hi, err = v.narrow(l, lo, hi); err != nil {
			return nil, err
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

// clampTo cuts [lo, hi) to what the array shows.
func clampTo(a Array, lo, hi int64) (int64, int64) {
	lo = min(max(lo, a.First), a.First+a.Len)
	hi = max(min(hi, a.First+a.Len), lo)
	return lo, hi
}

// narrow cuts level l's arrays to parents [lo, hi) and the box, and returns
// the interval of its own positions.
func (v *Tensor) narrow(l int, lo, hi int64) (int64, int64, error) {
	lev := &v.Levels[l]
	r := v.Range(lev.Mode)
	switch lev.Form() {
	case Full:
		if lo >= hi || r[0] >= r[1] {
			p := lo*lev.Size + min(max(r[0]-lev.Offset, 0), lev.Size)
			return p, p, nil
		}
		return lo*lev.Size + r[0] - lev.Offset, (hi-1)*lev.Size + r[1] - lev.Offset, nil
	case Segmented:
		if lev.Pos.Len == 0 || lo >= hi {
			// Of no parents, the pos element where they would be is left: what
			// follows starts there, and ends.
			a := lev.Crd.First
			if lev.Pos.Len > 0 {
				p := min(max(lo-lev.Pos.First, 0), lev.Pos.Len-1)
				lev.Pos = lev.Pos.Sub(p, p+1)
				a = v.PosAt(l, 0)
			}
			lo, hi = clampTo(lev.Crd, a, a)
			lev.Crd = lev.Crd.Sub(lo-lev.Crd.First, hi-lev.Crd.First)
			return lo, hi, nil
		}
		lo = max(lo, lev.Pos.First)
		hi = max(min(hi, lev.Pos.First+lev.Pos.Len-1), lo)
		lev.Pos = lev.Pos.Sub(lo-lev.Pos.First, hi-lev.Pos.First+1)
		a, b := v.PosAt(l, 0), v.PosAt(l, lev.Pos.Len-1)
		if v.lazy != nil && v.lazy.err != nil {
			return 0, 0, v.lazy.err
		}
		if a > b || a < 0 || !v.edges && (a < lev.Crd.First || b > lev.Crd.First+lev.Crd.Len) {
			return 0, 0, v.dataErr("positions [%d,%d) of level %d are outside its %s", a, b, l, Count(lev.Crd.Len, "coordinate"))
		}
		if hi-lo == 1 {
			f := lev.Crd.First
			a, b = clampTo(lev.Crd, a, b)
			a = f + v.search(l, CrdArray, a-f, b-f, r[0])
			b = f + v.search(l, CrdArray, a-f, b-f, r[1])
		}
		lo, hi = clampTo(lev.Crd, a, b)
	case Single:
		lo, hi = clampTo(lev.Crd, lo, hi)
	}
	lev.Crd = lev.Crd.Sub(lo-lev.Crd.First, hi-lev.Crd.First)
	return lo, hi, nil
}

// cutAt cuts level l to positions [lo, hi), and the levels above to the parents
// of those. A segment that the cut divides stays in pos whole: who reads it
// clamps it to the interval that crd shows.
func (v *Tensor) cutAt(l int, lo, hi int64) {
	for ; l >= 0; l-- {
		lev := &v.Levels[l]
		if lev.Form() != Full {
			lo, hi = clampTo(lev.Crd, lo, hi)
			lev.Crd = lev.Crd.Sub(lo-lev.Crd.First, hi-lev.Crd.First)
		}
		switch lev.Form() {
		case Full:
			if lev.Size > 0 && lo < hi {
				lo, hi = lo/lev.Size, (hi+lev.Size-1)/lev.Size
			} else {
				lo, hi = lo/max(lev.Size, 1), lo/max(lev.Size, 1)
			}
		case Segmented:
			if lev.Pos.Len == 0 {
				lo, hi = lev.Pos.First, lev.Pos.First
				break
			}
			// The first parent is the last whose segment starts at or before lo
			// (empty segments before it hold nothing), the last the first whose
			// segment ends at or after hi. Of no positions, the pos element is left
			// that a part which starts there begins with.
			n := lev.Pos.Len - 1
			p0 := v.search(l, PosArray, 0, n+1, lo+1) - 1
			if lo >= hi {
				p0 = max(p0, 0)
				lev.Pos = lev.Pos.Sub(p0, p0+1)
				lo, hi = lev.Pos.First, lev.Pos.First
				break
			}
			p1 := v.search(l, PosArray, max(p0, 0), n+1, hi)
			p0, p1 = max(p0, 0), max(min(p1, n), 0)
			lev.Pos = lev.Pos.Sub(p0, p1+1)
			lo, hi = lev.Pos.First, lev.Pos.First+p1-p0
		}
	}
}
