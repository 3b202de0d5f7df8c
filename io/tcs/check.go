package tcs

import (
	"fmt"

	"distaff/io/tensor"
)

// checker checks the arrays of a tensor.
type checker struct {
	t      *Tensor
	levels []Level
	depths []int // Format.Sharing
}

func newChecker(t *Tensor) *checker {
	return &checker{t: t, levels: t.Levels, depths: t.Format().Sharing()}
}

// checkLength is the number of elements, or of segments, that a goroutine checks at a time.
const checkLength = 1 << 18

// all checks everything that Validate promises.
func (c *checker) all() error {
	if err := c.arrays(); err != nil {
		return err
	}
	return c.pads(func(level int, kind ArrayKind) (from, to int64) {
		a := c.t.Array(level, kind)
		if from, to = a.First, a.First+a.Len; kind == PosArray {
			to = max(from, to-1)
		}
		return from, to
	})
}

// arrays checks all arrays: everything except padding.
func (c *checker) arrays() error {
	for l := range c.levels {
		if c.levels[l].Kind.HasPos() {
			if err := c.pos(l); err != nil {
				return err
			}
		}
	}
	for l := range c.levels {
		if !c.levels[l].Kind.HasCrd() || c.chained(l) {
			continue // a chain is checked with its first level
		}
		if err := c.chain(l); err != nil {
			return err
		}
	}
	return c.bools()
}

// bools checks that each value of type Bool is 0 or 1.
func (c *checker) bools() error {
	if c.t.Header.Type != tensor.Bool {
		return nil
	}
	for k, b := range c.t.Vals.Bytes() {
		if b > 1 {
			return c.placeErr(0, ValsArray, c.t.Vals.First+int64(k),
				"got the value %d of type bool, want 0 or 1", b)
		}
	}
	return nil
}

// chained reports whether level l is one of the singletons that directly follow a level of kind s
// or u.
func (c *checker) chained(l int) bool {
	k := l
	for k >= 0 && c.levels[k].Kind.IsSingle() {
		k--
	}
	return k >= 0 && k < l && c.levels[k].Kind.HasPos()
}

// pos checks level l's pos array.
func (c *checker) pos(l int) error {
	lev := &c.levels[l]
	n := lev.Pos.Len
	if n == 0 {
		if lev.Crd.Len != 0 {
			return c.t.dataErr("level %d has %s but no positions", l,
				tensor.Count(lev.Crd.Len, "coordinate"))
		}
		return nil
	}
	first, last := lev.Pos.Int(0), lev.Pos.Int(n-1)
	f, e := lev.Crd.First, lev.Crd.First+lev.Crd.Len
	if c.t.edges {
		if lev.Crd.Len > 0 && (first > f || last < e) {
			return c.t.dataErr(
				"positions of level %d go from %d to %d, but its coordinates from %d to %d",
				l, first, last, f, e)
		}
	} else if first != f || last != e {
		return c.t.dataErr("positions of level %d go from %d to %d, want %d to %d", l, first, last,
			f, e)
	}
	return Parallel(n-1, checkLength, func() func(int64, int64) error {
		return func(i, to int64) error {
			if bad := firstDrop(lev.Pos.Sub(i, to+1)); bad >= 0 {
				i += bad
				return c.placeErr(l, PosArray, i+1+lev.Pos.First,
					"position %d of level %d is %d, less than the %d before it", i+1, l,
					lev.Pos.Int(i+1), lev.Pos.Int(i))
			}
			return nil
		}
	})
}

// firstDrop returns the smallest i with a[i+1] < a[i], or -1 if a does not decrease.
func firstDrop(a Array) int64 {
	if a.Width == 4 {
		return drop(Slice[int32](a))
	}
	return drop(Slice[int64](a))
}

func drop[T int32 | int64](s []T) int64 {
	for i := 1; i < len(s); i++ {
		if s[i] < s[i-1] {
			return int64(i - 1)
		}
	}
	return -1
}

// chain checks the coordinates of level l and of the singletons that directly follow it. Each
// coordinate must be in range. If level l has segments, its coordinates must also be in order
// within each segment.
func (c *checker) chain(l int) error {
	end := c.chainEnd(l)
	for k := l; k < end; k++ {
		if err := c.inRange(k); err != nil {
			return err
		}
	}
	lev := &c.levels[l]
	if !lev.Kind.HasPos() || lev.Pos.Len == 0 {
		return nil
	}
	// Neighbors must first differ at this level or above, and the coordinate must increase
	// there.
	return Parallel(lev.Pos.Len-1, checkLength, func() func(int64, int64) error {
		return func(from, to int64) error {
			if end == l+1 {
				var bad int64
				if lev.Crd.Width == 4 {
					bad = unsorted(Slice[int32](lev.Crd), lev, from, to, c.depths[l] > l)
				} else {
					bad = unsorted(Slice[int64](lev.Crd), lev, from, to, c.depths[l] > l)
				}
				if bad >= 0 {
					return c.orderErr(l, bad)
				}
				return nil
			}
			for s := from; s < to; s++ {
				a, b := clampTo(lev.Crd, lev.Pos.Int(s), lev.Pos.Int(s+1))
				for q := a + 1; q < b; q++ {
					if !c.grows(l, end, q) {
						return c.orderErr(l, q)
					}
				}
			}
			return nil
		}
	})
}

// chainEnd returns the first level after level l that is not a singleton, or the number of levels
// if there is none.
func (c *checker) chainEnd(l int) int {
	for l++; l < len(c.levels) && c.levels[l].Kind.IsSingle(); l++ {
	}
	return l
}

// unsorted returns the first position in segments [from, to) whose coordinate is out of order, or
// -1 if there is none. Each coordinate must be greater than the coordinate before it in the
// segment. If repeats is true, it may also be equal.
func unsorted[T int32 | int64](crd []T, lev *Level, from, to int64, repeats bool) int64 {
	var slack T
	if repeats {
		slack = 1
	}
	f := lev.Crd.First
	for s := from; s < to; s++ {
		a, b := clampTo(lev.Crd, lev.Pos.Int(s), lev.Pos.Int(s+1))
		seg := crd[a-f : b-f]
		if len(seg) == 0 {
			continue
		}
		last := seg[0]
		for i, x := range seg[1:] {
			if x <= last-slack {
				return a + int64(i) + 1
			}
			last = x
		}
	}
	return -1
}

// grows reports whether positions q-1 and q may be neighbors in a segment of level l: whether their
// coordinates in levels l to end-1 are in order.
func (c *checker) grows(l, end int, q int64) bool {
	for k := l; k < end; k++ {
		crd := &c.levels[k].Crd
		if x, y := crd.At(q-1), crd.At(q); x != y {
			// A level without repeats must not have equal coordinates in one segment.
			return x < y && k <= c.firstUnique(l, end)
		}
	}
	return c.depths[l] == len(c.levels)
}

// firstUnique returns the first level of the chain [l, end) that does not repeat coordinates,
// or end-1 if there is none.
func (c *checker) firstUnique(l, end int) int {
	for k := l; k < end; k++ {
		if c.levels[k].Kind.IsUnique() {
			return k
		}
	}
	return end - 1
}

func (c *checker) orderErr(l int, q int64) error {
	crd := c.levels[l].Crd
	return c.placeErr(l, CrdArray, q,
		"coordinate %d of level %d is %d after %d: the coordinates of a segment must increase%s",
		q, l,
		crd.At(q), crd.At(q-1),
		map[bool]string{true: " and differ"}[c.levels[l].Kind.IsUnique()])
}

// placeErr returns the error for a fault in element index of an array. level and kind select the
// array.
func (c *checker) placeErr(level int, kind ArrayKind, index int64, format string,
	args ...any) error {
	return &Error{Exit: exitData, File: c.t.File(), Msg: fmt.Sprintf(format, args...),
		Place: &Place{level, kind, index}}
}

// inRange checks that each coordinate of level l is in the tensor's box. The coordinate -1 is also
// allowed if level l can have padding (see mayPad). The arrays of a view may have coordinates
// outside its box, so in a view a coordinate need only be in the range of the whole mode.
func (c *checker) inRange(l int) error {
	lev := &c.levels[l]
	r := c.t.Header.Range(lev.Mode)
	if c.t.part { // a view's slice may contain coordinates outside its box
		r = [2]int64{0, c.t.Header.Dims[lev.Mode]}
	}
	return Parallel(lev.Crd.Len, checkLength, func() func(int64, int64) error {
		return func(i, to int64) error {
			for i < to {
				var bad int64
				if lev.Crd.Width == 4 {
					bad = outside(Slice[int32](lev.Crd)[i:to], r)
				} else {
					bad = outside(Slice[int64](lev.Crd)[i:to], r)
				}
				if bad < 0 {
					return nil
				}
				i += bad
				if x := lev.Crd.Int(i); x != -1 || !c.mayPad(l) {
					return c.placeErr(l, CrdArray, i+lev.Crd.First,
						"coordinate %d of level %d is %d, want one in [%d,%d)", i+lev.Crd.First, l,
						x, r[0], r[1])
				}
				i++
			}
			return nil
		}
	})
}

// mayPad reports whether positions of level l can have the coordinate -1. A p level can have it,
// and a singleton below a p level can have it. If level l is not a p level, the method pads checks
// later that each position with the coordinate -1 is below padding.
func (c *checker) mayPad(l int) bool {
	kind := c.levels[l].Kind
	return kind.IsPadded() || kind.IsSingle() && c.mayHoldPads(l-1)
}

// outside returns the index of the first coordinate outside [r[0], r[1]), or -1 if there is
// none.
func outside[T int32 | int64](s []T, r [2]int64) int64 {
	lo, hi := T(r[0]), T(r[1]-1)
	if r[0] >= r[1] {
		lo, hi = 0, -1
	}
	at := 0
	// Check eight coordinates without a branch: one of the differences is negative if a
	// coordinate is outside.
	for ; at+8 <= len(s); at += 8 {
		out := T(0)
		for _, x := range s[at : at+8 : at+8] {
			out |= (x - lo) | (hi - x)
		}
		if out < 0 {
			break
		}
	}
	for i, x := range s[at:] {
		if x < lo || x > hi {
			return int64(at + i)
		}
	}
	return -1
}
