package tcs

import "slices"

// Validate checks the arrays, which it loads if need be: positions grow and end
// at the number of coordinates, coordinates are in the box and sorted as their
// level's kind asks, and nothing is below padded slots. The first fault is an
// *Error (exit 3) that says where. A tensor that passed is not read again. For a
// view it checks what the view shows. Of a file, Verify checks the rest too.
func (t *Tensor) Validate() error {
	if t.validated.Load() {
		return nil
	}
	return t.Check()
}

// Check is Validate, also for a tensor that passed or is trusted.
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

// ValidateGiven is Validate for a tensor whose fields a program may set: arrays other than those that
// passed are checked anew. What was written into the same arrays it does not see.
func (t *Tensor) ValidateGiven() error {
	if p := t.passed.Load(); t.validated.Load() && (p == nil || slices.Equal(*p, t.Levels)) {
		return nil
	}
	return t.Check()
}

// Verify is all that a file must pass before its arrays are used, beside what
// Open checked: Validate, the checksums of the arrays and the zeros between
// them. Every command that reads a .tcs whole calls it; ranks that have a part
// each call CheckPart, SumPart and CheckSums, which together check the same.
func (t *Tensor) Verify() error {
	if err := t.Validate(); err != nil || t.file == nil {
		return err
	}
	if err := t.checkSums(); err != nil {
		return err
	}
	return t.checkGaps()
}

// Trust marks the tensor as valid without a look (--trust-input).
func (t *Tensor) Trust() {
	levels := slices.Clone(t.Levels)
	t.passed.Store(&levels)
	t.validated.Store(true)
}

// part is how many elements one thread checks at a time.
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

// checkArrays is validate without what padding asks for.
func (t *Tensor) checkArrays() error {
	kinds, _ := t.Format()
	depths := Depths(kinds)
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Form() == Segmented {
			if err := t.checkPos(l); err != nil {
				return err
			}
		}
	}
	for l := 0; l < len(t.Levels); l++ {
		lev := &t.Levels[l]
		if lev.Form() == Full {
			continue
		}
		if Singleton(lev.Kind) && l > 0 && chained(kinds, l) {
			continue // checked with its chain's head
		}
		if err := t.checkChain(l, depths); err != nil {
			return err
		}
	}
	return nil
}

// chained reports whether singleton level l belongs to a chain under an s or u.
func chained(kinds string, l int) bool {
	for l >= 0 && Singleton(kinds[l]) {
		l--
	}
	return l >= 0 && KindOf(kinds[l]).Form == Segmented
}

// checkPos checks level l's pos array.
func (t *Tensor) checkPos(l int) error {
	lev := &t.Levels[l]
	n := lev.Pos.Len
	if n == 0 {
		if lev.Crd.Len != 0 {
			return t.dataErr("level %d has %s and no positions", l, Count(lev.Crd.Len, "coordinate"))
		}
		return nil
	}
	first, last := lev.Pos.Int(0), lev.Pos.Int(n-1)
	f, e := lev.Crd.First, lev.Crd.First+lev.Crd.Len
	if t.edges {
		if lev.Crd.Len > 0 && (first > f || last < e) {
			return t.dataErr("positions of level %d go from %d to %d, and its coordinates from %d to %d", l, first, last, f, e)
		}
	} else if first != f || last != e {
		return t.dataErr("positions of level %d go from %d to %d, want %d to %d", l, first, last, f, e)
	}
	return parallel(chunks(n-1, part), func() func(int64) error {
		return func(c int64) error {
			i := c * part
			k := min(i+part, n-1)
			if bad := firstDrop(lev.Pos.Sub(i, k+1)); bad >= 0 {
				i += bad
				return t.placeErr(l, PosArray, i+1+lev.Pos.First, "position %d of level %d is %d, less than the %d before it", i+1, l, lev.Pos.Int(i+1), lev.Pos.Int(i))
			}
			return nil
		}
	})
}

// firstDrop is the first i with a[i+1] < a[i], or -1.
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

// checkChain checks the coordinates of level l and of the singletons below it:
// range, and order within each segment (of the whole level, where l is a
// singleton under dense levels: there nothing is ordered).
func (t *Tensor) checkChain(l int, depths []int) error {
	end := l + 1
	for end < len(t.Levels) && Singleton(t.Levels[end].Kind) {
		end++
	}
	for k := l; k < end; k++ {
		if err := t.checkRange(k, k > l && chained(kindsOf(t), k)); err != nil {
			return err
		}
	}
	lev := &t.Levels[l]
	if lev.Form() != Segmented || lev.Pos.Len == 0 {
		return nil
	}
	// Neighbours must first differ at or above this level, and grow there.
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

func kindsOf(t *Tensor) string {
	k, _ := t.Format()
	return k
}

// unsorted is the first position in segments [from, to) whose coordinate is not
// above (with repeats: below) the one before it, or -1.
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

// grows compares positions q-1 and q along the chain [l, end).
func (t *Tensor) grows(l, end int, q int64, unique int) bool {
	for k := l; k < end; k++ {
		c := &t.Levels[k].Crd
		x, y := c.At(q-1), c.At(q)
		if x != y {
			// A level of its own coordinates must not repeat what is above.
			return x < y && k <= t.firstUnique(l, end)
		}
	}
	return unique == len(t.Levels)
}

// firstUnique is the first level of the chain [l, end) that does not repeat
// coordinates, or end-1.
func (t *Tensor) firstUnique(l, end int) int {
	for k := l; k < end; k++ {
		if !KindOf(t.Levels[k].Kind).Repeats {
			return k
		}
	}
	return end - 1
}

func (t *Tensor) orderErr(l int, q int64) error {
	c := t.Levels[l].Crd
	return t.placeErr(l, CrdArray, q, "coordinate %d of level %d is %d after %d: coordinates of a segment are sorted%s", q, l, c.At(q), c.At(q-1),
		map[bool]string{true: " and differ"}[!KindOf(t.Levels[l].Kind).Repeats])
}

// checkRange checks that level l's coordinates are in the box, or where
// padding is possible -1.
func (t *Tensor) checkRange(l int, inChain bool) error {
	lev := &t.Levels[l]
	r := t.Range(lev.Mode)
	if t.part {
		r = [2]int64{0, t.Dims[lev.Mode]} // a view's slice may hold more than its box
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
					return t.placeErr(l, CrdArray, i+lev.Crd.First, "coordinate %d of level %d is %d, want one in [%d,%d)", i+lev.Crd.First, l, x, r[0], r[1])
				}
				i++
			}
			return nil
		}
	})
}

// mayPad reports whether -1 may stand at position q of level l: in a p level, or
// in a singleton below a padded slot, where checkPads asks for it.
func (t *Tensor) mayPad(l int, q int64) bool {
	kind := KindOf(t.Levels[l].Kind)
	return kind.Padded || kind.Form == Single && t.mayHoldPads(l-1)
}

// outside is the first index of a coordinate outside [r0, r1), or -1.
func outside[T int32 | int64](s []T, r [2]int64) int64 {
	lo, hi := T(r[0]), T(r[1]-1)
	if r[0] >= r[1] {
		lo, hi = 0, -1
	}
	at := 0
	for ; at+8 <= len(s); at += 8 { // all eight without a branch: a difference is negative where one lies outside
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
