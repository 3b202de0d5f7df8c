package tcs

import (
	"distaff/io/tensor"
	"slices"
)

// Validate checks the arrays, and loads them first if needed. Positions must increase up to the
// number of coordinates. Coordinates must be in the box and sorted as the kind of their level
// requires. Nothing may be stored below padded slots. For the first fault Validate returns an
// *Error (exit code 3) with its place. It does not read a tensor that passed before again. For
// a view it checks the arrays that the view shows. Verify also checks the rest of the file.
func (t *Tensor) Validate() error {
	if t.validated.Load() {
		return nil
	}
	return t.Check()
}

// Check is Validate without the shortcut for tensors that passed before or are trusted.
func (t *Tensor) Check() error {
	if err := t.Load(nil); err != nil {
		return err
	}
	if err := t.guarded(t.validate); err != nil {
		return err
	}
	t.Trust()
	return nil
}

// ValidateGiven is Validate for a tensor whose fields a program may set: it checks again if the
// arrays are not the arrays that passed. It does not notice values that were written into the
// same arrays.
func (t *Tensor) ValidateGiven() error {
	if p := t.passed.Load(); t.validated.Load() && (p == nil || slices.Equal(*p, t.Levels)) {
		return nil
	}
	return t.Check()
}

// Verify checks everything that Open did not check and that a file must pass before its arrays
// are used: Validate, the checksums of the arrays and the zeros between them. Every command
// that reads a whole .tcs file calls it. Ranks that each have a part call CheckPart, SumPart
// and CheckSums, which together check the same.
func (t *Tensor) Verify() error {
	if err := t.Validate(); err != nil || t.file == nil {
		return err
	}
	if err := t.checkSums(); err != nil {
		return err
	}
	return t.checkGaps()
}

// Trust marks the tensor as valid without checking it (--trust-input).
func (t *Tensor) Trust() {
	levels := slices.Clone(t.Levels)
	t.passed.Store(&levels)
	t.validated.Store(true)
}

// part is the number of elements in a piece of work of one goroutine.
const part = 1 << 18

func (t *Tensor) validate() error {
	if err := t.checkArrays(); err != nil {
		return err
	}
	return t.checkPads(func(level int, part ArrayKind) (from, to int64) {
		a := t.array(level, part)
		if from, to = a.First, a.First+a.Len; part == PosArray {
			to = max(from, to-1)
		}
		return from, to
	})
}

// checkArrays checks everything that validate checks, except padding.
func (t *Tensor) checkArrays() error {
	f := t.Format()
	depths := f.Sharing()
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Form() == tensor.Segmented {
			if err := t.checkPos(l); err != nil {
				return err
			}
		}
	}
	for l := 0; l < len(t.Levels); l++ {
		lev := &t.Levels[l]
		if lev.Form() == tensor.Full {
			continue
		}
		if lev.Kind.IsSingle() && l > 0 && chained(f.Levels, l) {
			continue // checked with the first level of its chain
		}
		if err := t.checkChain(l, depths); err != nil {
			return err
		}
	}
	return nil
}

// chained reports whether singleton level l belongs to a chain of singletons below an s or u
// level.
func chained(kinds []tensor.Kind, l int) bool {
	for l >= 0 && kinds[l].IsSingle() {
		l--
	}
	return l >= 0 && kinds[l].HasPos()
}

// checkPos checks level l's pos array.
func (t *Tensor) checkPos(l int) error {
	lev := &t.Levels[l]
	n := lev.Pos.Len
	if n == 0 {
		if lev.Crd.Len != 0 {
			return t.dataErr("level %d has %s and no positions", l,
				tensor.Count(lev.Crd.Len, "coordinate"))
		}
		return nil
	}
	first, last := lev.Pos.Int(0), lev.Pos.Int(n-1)
	f, e := lev.Crd.First, lev.Crd.First+lev.Crd.Len
	if t.edges {
		if lev.Crd.Len > 0 && (first > f || last < e) {
			return t.dataErr("positions of level %d go from %d to %d, and its coordinates from "+
				"%d to %d", l, first, last, f, e)
		}
	} else if first != f || last != e {
		return t.dataErr("positions of level %d go from %d to %d, want %d to %d", l, first, last, f,
			e)
	}
	return parallel(chunks(n-1, part), func() func(int64) error {
		return func(c int64) error {
			i := c * part
			k := min(i+part, n-1)
			if bad := firstDrop(lev.Pos.Sub(i, k+1)); bad >= 0 {
				i += bad
				return t.placeErr(l, PosArray, i+1+lev.Pos.First,
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

// checkChain checks the coordinates of level l and of the singletons that follow it. It checks
// their range, and their order within each segment of level l. If l is a singleton (below dense
// levels), the coordinates have no order.
func (t *Tensor) checkChain(l int, depths []int) error {
	end := l + 1
	for end < len(t.Levels) && t.Levels[end].Kind.IsSingle() {
		end++
	}
	for k := l; k < end; k++ {
		if err := t.checkRange(k, k > l && chained(t.Format().Levels, k)); err != nil {
			return err
		}
	}
	lev := &t.Levels[l]
	if lev.Form() != tensor.Segmented || lev.Pos.Len == 0 {
		return nil
	}
	// Neighbors must first differ at this level or above, and the coordinate must increase
	// there.
	unique := depths[l]
	segs := lev.Pos.Len - 1
	return parallel(chunks(segs, part), func() func(int64) error {
		return func(c int64) error {
			from, to := c*part, min((c+1)*part, segs)
			if end == l+1 {
				var bad int64
				if lev.Crd.Width == 4 {
					bad = unsorted(Slice[int32](lev.Crd), lev, from, to, unique > l)
				} else {
					bad = unsorted(Slice[int64](lev.Crd), lev, from, to, unique > l)
				}
				if bad >= 0 {
					return t.orderErr(l, bad)
				}
				return nil
			}
			for s := from; s < to; s++ {
				a, b := clampTo(lev.Crd, lev.Pos.Int(s), lev.Pos.Int(s+1))
				for q := a + 1; q < b; q++ {
					if !t.grows(l, end, q, unique) {
						return t.orderErr(l, q)
					}
				}
			}
			return nil
		}
	})
}

// unsorted returns the first position in segments [from, to) whose coordinate is not greater
// than the coordinate before it, or -1 if there is none. With repeats, equal coordinates are
// allowed.
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

// grows reports whether position q-1 may come directly before position q in a segment,
// according to their coordinates in levels [l, end). unique is Format.Sharing of level l.
func (t *Tensor) grows(l, end int, q int64, unique int) bool {
	for k := l; k < end; k++ {
		c := &t.Levels[k].Crd
		x, y := c.At(q-1), c.At(q)
		if x != y {
			// A level without repeats must not have equal coordinates in one segment.
			return x < y && k <= t.firstUnique(l, end)
		}
	}
	return unique == len(t.Levels)
}

// firstUnique returns the first level of the chain [l, end) that does not repeat coordinates,
// or end-1 if there is none.
func (t *Tensor) firstUnique(l, end int) int {
	for k := l; k < end; k++ {
		if t.Levels[k].Kind.IsUnique() {
			return k
		}
	}
	return end - 1
}

func (t *Tensor) orderErr(l int, q int64) error {
	c := t.Levels[l].Crd
	return t.placeErr(l, CrdArray, q,
		"coordinate %d of level %d is %d after %d: coordinates of a segment are sorted%s", q, l,
		c.At(q), c.At(q-1),
		map[bool]string{true: " and differ"}[t.Levels[l].Kind.IsUnique()])
}

// checkRange checks that each coordinate of level l is in the box, or is -1 if padding is
// possible.
func (t *Tensor) checkRange(l int, inChain bool) error {
	lev := &t.Levels[l]
	r := t.Header.Range(lev.Mode)
	if t.part {
		r = [2]int64{0, t.Header.Dims[lev.Mode]} // a view's slice may contain coordinates outside its box
	}
	n := lev.Crd.Len
	return parallel(chunks(n, part), func() func(int64) error {
		return func(c int64) error {
			from, to := c*part, min((c+1)*part, n)
			for i := from; i < to; {
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
				if x := lev.Crd.Int(i); x != -1 || !t.mayPad(l, i+lev.Crd.First) {
					return t.placeErr(l, CrdArray, i+lev.Crd.First,
						"coordinate %d of level %d is %d, want one in [%d,%d)", i+lev.Crd.First, l,
						x, r[0], r[1])
				}
				i++
			}
			return nil
		}
	})
}

// mayPad reports whether the coordinate -1 is possible in level l: in a p level, or in a
// singleton below a p level. checkPads then checks the position.
func (t *Tensor) mayPad(l int, q int64) bool {
	kind := t.Levels[l].Kind
	return kind.IsPadded() || kind.IsSingle() && t.mayHoldPads(l-1)
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
