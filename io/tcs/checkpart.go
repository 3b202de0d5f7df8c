package tcs

import "distaff/io/tensor"

// Several readers can check a tensor in parts. A part is a range of elements of every array:
// [lo[i], hi[i]) of array i, in the order of a Layout's sections. Consecutive parts cover the
// tensor.

// Starts returns, for each array of the whole tensor, the index of the first element that belongs
// to the view t.
func (t *Tensor) Starts() []int64 {
	var at []int64
	for _, x := range t.arrays() {
		at = append(at, x.First)
	}
	return at
}

// Lengths returns the number of elements of each array.
func (t *Tensor) Lengths() []int64 {
	var n []int64
	for _, x := range t.arrays() {
		n = append(n, x.Len)
	}
	return n
}

// CheckPart makes the checks of Validate for one part of a tensor. The part has the elements lo[i]
// to hi[i]-1 of each array i. The arrays must be in memory or be read on demand. CheckPart also
// checks that the part continues the part before it, so it reads some elements next to the part. If
// CheckPart passes for all parts of a tensor, Validate would pass for the tensor.
func (t *Tensor) CheckPart(lo, hi []int64) error {
	return t.Guarded(func() error { return newChecker(t).part(lo, hi) })
}

// part is CheckPart.
func (c *checker) part(lo, hi []int64) error {
	v := &Tensor{Header: c.t.Header, Levels: append([]Level(nil), c.levels...), Vals: c.t.Vals,
		source: c.t.source, part: c.t.part, edges: true}
	first := make([]int64, len(c.levels)) // for each level, the first position of the part
	for i, x := range v.arrays() {
		from, to := lo[i], hi[i]
		// include the elements next to the part
		if err := c.t.need(x.level, x.kind, from-1, to+2); err != nil {
			return err
		}
		switch x.kind {
		case PosArray:
			to = min(to+2, x.Len) // include the end of a segment that the next part continues
		case CrdArray:
			first[x.level] = from
		}
		*x.Array = x.Sub(from, max(from, to))
	}
	if err := newChecker(v).arrays(); err != nil {
		return err
	}
	if err := c.pads(func(level int, kind ArrayKind) (from, to int64) {
		for i, x := range c.t.arrays() {
			if x.kind != kind || x.level != level {
				continue
			}
			if from, to = lo[i], max(lo[i], hi[i]); kind == PosArray {
				to = max(from, min(to, x.Len-1))
			}
		}
		return from, to
	}); err != nil {
		return err
	}
	for l := range c.levels {
		if !c.levels[l].Kind.HasPos() {
			continue
		}
		if err := c.ends(l, v); err != nil {
			return err
		}
		q := first[l]
		if q == 0 || v.Levels[l].Crd.Len == 0 || v.Levels[l].Pos.Len == 0 ||
			v.Levels[l].Pos.Int(0) >= q {
			continue // the part starts with a new segment
		}
		if !c.grows(l, c.chainEnd(l), q) {
			return c.orderErr(l, q)
		}
	}
	return nil
}

// ends checks that the pos array of level l begins with 0 and ends with the number of coordinates
// in the level. It checks only the elements that are in the part v.
func (c *checker) ends(l int, v *Tensor) error {
	pos, crd := &v.Levels[l].Pos, c.levels[l].Crd.Len
	n := c.levels[l].Pos.Len
	if pos.Len == 0 {
		return nil
	}
	if pos.First == 0 && pos.Int(0) != 0 || pos.First+pos.Len == n && pos.Int(pos.Len-1) != crd {
		return c.t.dataErr("positions of level %d must go from 0 to its %s", l,
			tensor.Count(crd, "coordinate"))
	}
	return nil
}
