package tcs

import (
	"distaff/io/tensor"
	"unsafe"
)

// A slot of a p level that holds -1 is padding: it represents no coordinate.
// Below padding, singletons hold -1 too, compressed levels have no coordinates, and
// values are zero. So a reader can recognize padding without looking at the levels above.

// mayHoldPads reports whether a position of level l can be padding or below padding: level l is
// a p level, or there is a p level above it with only dense levels and singletons between them.
// A compressed level has no positions below padding.
func (c *checker) mayHoldPads(l int) bool {
	for ; l >= 0; l-- {
		switch kind := c.levels[l].Kind; {
		case kind.IsPadded():
			return true
		case kind.HasPos():
			return false
		}
	}
	return false
}

// padded reports whether position q of level l is padding, or below padding.
func (c *checker) padded(l int, q int64) bool {
	for ; l >= 0; l-- {
		lev := &c.levels[l]
		switch lev.Form() {
		case tensor.Full:
			q /= lev.Size
		case tensor.Segmented:
			return false
		case tensor.Single:
			if lev.Crd.At(q) == -1 {
				return true
			}
		}
	}
	return false
}

// pads checks that only p levels have padding, and that nothing is stored below padding. For each
// array, it calls shown to get the interval of the elements to check. For a pos array, the interval
// contains parents instead of elements.
func (c *checker) pads(shown func(level int, kind ArrayKind) (from, to int64)) error {
	for l := range c.levels {
		lev := &c.levels[l]
		kind := lev.Kind
		if !kind.HasCrd() || !c.mayHoldPads(l-1) {
			continue
		}
		fault := func(q int64) error {
			switch x := lev.Crd.At(q); {
			case x == -1 && !kind.IsPadded() && !c.padded(l-1, q):
				return c.t.dataErr(
					"coordinate %d of level %d is -1, want one in the box: only a p level can "+
						"have empty slots", q, l)
			case x != -1 && c.padded(l-1, q):
				return c.t.dataErr("coordinate %d of level %d is %d below an empty slot, want -1", q,
					l, x)
			}
			return nil
		}
		from, to := shown(l, CrdArray)
		if kind.HasPos() {
			from, to = shown(l, PosArray)
			fault = func(p int64) error {
				if n := lev.Pos.At(p+1) - lev.Pos.At(p); n != 0 && c.padded(l-1, p) {
					return c.t.dataErr("level %d has %s below the empty slot of parent %d, want none",
						l, tensor.Count(n, "coordinate"), p)
				}
				return nil
			}
		}
		if err := c.eachAbove(l-1, from, to, fault); err != nil {
			return err
		}
	}
	last := len(c.levels) - 1
	if !c.mayHoldPads(last) {
		return nil
	}
	from, to := shown(-1, ValsArray)
	return c.eachAbove(last, from, to, func(q int64) error {
		if !c.padded(last, q) {
			return nil
		}
		i := q - c.t.Vals.First
		v := c.t.Header.Type.Load(unsafe.Add(c.t.Vals.Ptr, i*int64(c.t.Vals.Width)))
		if !v.IsZero() {
			return c.t.dataErr("value %d is %v in an empty slot, want 0", q, v)
		}
		return nil
	})
}

// eachAbove calls check for each position in [from, to) of level l, from several goroutines. check
// may read the coordinate of the position in level l and the coordinates of its parents in the
// levels above, but not in the nearest compressed level or above it. If the tensor is read on
// demand, eachAbove first reads these coordinates.
func (c *checker) eachAbove(l int, from, to int64, check func(q int64) error) error {
	if from >= to {
		return nil
	}
	for lo, hi := from, to; l >= 0 && c.levels[l].Form() != tensor.Segmented; l-- {
		if c.levels[l].Form() == tensor.Full {
			lo, hi = lo/c.levels[l].Size, (hi-1)/c.levels[l].Size+1
		} else if err := c.t.need(l, CrdArray, lo, hi); err != nil {
			return err
		}
	}
	return Parallel(to-from, checkLength, func() func(int64, int64) error {
		return func(i, end int64) error {
			for ; i < end; i++ {
				if err := check(from + i); err != nil {
					return err
				}
			}
			return nil
		}
	})
}
