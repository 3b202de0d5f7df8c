package tcs

import "distaff/io/tensor"

// A partitioner cuts the levels of one Form into parts (SpDISTAL, table I). Positions are numbers
// in the whole tensor, even in a view. The arrays of a view may lack some positions, and the
// results then leave these positions out. For a file that was not validated, the results can be
// wrong, but no function accesses memory outside of an array.
type partitioner interface {
	// fromParent cuts the arrays of level l to the positions whose parents are in [lo, hi) and
	// whose coordinates can be in the box. It returns the interval of these positions.
	fromParent(v *Tensor, l int, lo, hi int64) (int64, int64, error)
	// fromChild cuts the arrays of level l to positions [lo, hi). It returns the interval of the
	// parents of these positions. The first and the last parent may also have positions outside of
	// [lo, hi).
	fromChild(v *Tensor, l int, lo, hi int64) (int64, int64)
	// equal returns the interval of the positions that have coordinate x and a parent in [lo, hi).
	// If there is none, the interval is empty and begins where such a position would be inserted.
	// If hi-lo > 1, the coordinates must increase from parent to parent, as they do if the parents
	// have equal coordinates.
	equal(t *Tensor, l int, lo, hi, x int64) (int64, int64)
	// first returns the first position below parent p.
	first(t *Tensor, l int, p int64) int64
	// path returns the coordinate of position p, and its parent.
	path(t *Tensor, l int, p int64) (x, parent int64)
}

// partitioners is indexed by Form.
var partitioners = [...]partitioner{tensor.Full: fullParts{}, tensor.Segmented: segmentedParts{},
	tensor.Single: singleParts{}}

func (l *Level) partitioner() partitioner { return partitioners[l.Form()] }

// clampTo restricts [lo, hi) to the positions that the array has.
func clampTo(a Array, lo, hi int64) (int64, int64) {
	lo = min(max(lo, a.First), a.First+a.Len)
	hi = max(min(hi, a.First+a.Len), lo)
	return lo, hi
}

// showCrd cuts the level's crd to positions [lo, hi), and returns the interval that remains.
func (l *Level) showCrd(lo, hi int64) (int64, int64) {
	lo, hi = clampTo(l.Crd, lo, hi)
	l.Crd = l.Crd.Sub(lo-l.Crd.First, hi-l.Crd.First)
	return lo, hi
}

// equalCrd returns the interval of positions in [lo, hi) with coordinate x. The coordinates of
// [lo, hi) must be sorted.
func (t *Tensor) equalCrd(l int, lo, hi, x int64) (int64, int64) {
	crd := &t.Levels[l].Crd
	lo, hi = clampTo(*crd, lo, hi)
	f := crd.First
	a := t.search(l, CrdArray, lo-f, hi-f, x)
	b := t.search(l, CrdArray, a, hi-f, x+1)
	return f + a, f + b
}

type fullParts struct{}

func (fullParts) fromParent(v *Tensor, l int, lo, hi int64) (int64, int64, error) {
	lev := &v.Levels[l]
	r := v.Header.Range(lev.Mode)
	if lo >= hi || r[0] >= r[1] {
		p := lo*lev.Size + min(max(r[0]-lev.Offset, 0), lev.Size)
		return p, p, nil
	}
	return lo*lev.Size + r[0] - lev.Offset, (hi-1)*lev.Size + r[1] - lev.Offset, nil
}

func (fullParts) fromChild(v *Tensor, l int, lo, hi int64) (int64, int64) {
	lev := &v.Levels[l]
	if lev.Size > 0 && lo < hi {
		return lo / lev.Size, (hi + lev.Size - 1) / lev.Size
	}
	return lo / max(lev.Size, 1), lo / max(lev.Size, 1)
}

func (fullParts) equal(t *Tensor, l int, lo, hi, x int64) (int64, int64) {
	lev := &t.Levels[l]
	p := lo*lev.Size + min(max(x-lev.Offset, 0), lev.Size)
	if x < lev.Offset || x >= lev.Offset+lev.Size {
		return p, p
	}
	return p, p + 1
}

func (fullParts) first(t *Tensor, l int, p int64) int64 { return p * t.Levels[l].Size }

func (fullParts) path(t *Tensor, l int, p int64) (x, parent int64) {
	lev := &t.Levels[l]
	size := max(lev.Size, 1)
	return lev.Offset + p%size, p / size
}

type segmentedParts struct{}

func (segmentedParts) fromParent(v *Tensor, l int, lo, hi int64) (int64, int64, error) {
	lev := &v.Levels[l]
	if lev.Pos.Len == 0 || lo >= hi {
		// Without parents, keep the one pos element at their place: the part starts and ends
		// there.
		a := lev.Crd.First
		if lev.Pos.Len > 0 {
			p := min(max(lo-lev.Pos.First, 0), lev.Pos.Len-1)
			lev.Pos = lev.Pos.Sub(p, p+1)
			a = v.PosAt(l, 0)
		}
		lo, hi = lev.showCrd(a, a)
		return lo, hi, nil
	}
	lo = max(lo, lev.Pos.First)
	hi = max(min(hi, lev.Pos.First+lev.Pos.Len-1), lo)
	lev.Pos = lev.Pos.Sub(lo-lev.Pos.First, hi-lev.Pos.First+1)
	a, b := v.PosAt(l, 0), v.PosAt(l, lev.Pos.Len-1)
	if err := v.demandErr(); err != nil {
		return 0, 0, err
	}
	if a > b || a < 0 || !v.edges && (a < lev.Crd.First || b > lev.Crd.First+lev.Crd.Len) {
		return 0, 0, v.dataErr(
			"positions [%d,%d) of level %d must be in the range of its %s", a, b, l,
			tensor.Count(lev.Crd.Len, "coordinate"))
	}
	if hi-lo == 1 {
		f, r := lev.Crd.First, v.Header.Range(lev.Mode)
		a, b = clampTo(lev.Crd, a, b)
		a = f + v.search(l, CrdArray, a-f, b-f, r[0])
		b = f + v.search(l, CrdArray, a-f, b-f, r[1])
	}
	lo, hi = lev.showCrd(a, b)
	return lo, hi, nil
}

func (segmentedParts) fromChild(v *Tensor, l int, lo, hi int64) (int64, int64) {
	lev := &v.Levels[l]
	lo, hi = lev.showCrd(lo, hi)
	if lev.Pos.Len == 0 {
		return lev.Pos.First, lev.Pos.First
	}
	// The first parent is the last one whose segment starts at or before lo; empty segments
	// before it have no positions. The last parent is the first one whose segment ends at or
	// after hi. Of an empty interval, keep one pos element: the part starts with it.
	n := lev.Pos.Len - 1
	p0 := v.search(l, PosArray, 0, n+1, lo+1) - 1
	if lo >= hi {
		p0 = max(p0, 0)
		lev.Pos = lev.Pos.Sub(p0, p0+1)
		return lev.Pos.First, lev.Pos.First
	}
	p1 := v.search(l, PosArray, max(p0, 0), n+1, hi)
	p0, p1 = max(p0, 0), max(min(p1, n), 0)
	lev.Pos = lev.Pos.Sub(p0, p1+1)
	return lev.Pos.First, lev.Pos.First + p1 - p0
}

func (s segmentedParts) equal(t *Tensor, l int, lo, hi, x int64) (int64, int64) {
	return t.equalCrd(l, s.first(t, l, lo), s.first(t, l, hi), x)
}

func (segmentedParts) first(t *Tensor, l int, p int64) int64 {
	lev := &t.Levels[l]
	if lev.Pos.Len == 0 {
		return lev.Crd.First
	}
	a, _ := clampTo(lev.Crd, t.PosAt(l, min(max(p-lev.Pos.First, 0), lev.Pos.Len-1)), 0)
	return a
}

func (segmentedParts) path(t *Tensor, l int, p int64) (x, parent int64) {
	lev := &t.Levels[l]
	k := t.search(l, PosArray, 0, lev.Pos.Len, p+1) - 1
	return t.crdAt(l, p), lev.Pos.First + max(k, 0)
}

type singleParts struct{}

func (singleParts) fromParent(v *Tensor, l int, lo, hi int64) (int64, int64, error) {
	lo, hi = v.Levels[l].showCrd(lo, hi)
	return lo, hi, nil
}

func (singleParts) fromChild(v *Tensor, l int, lo, hi int64) (int64, int64) {
	return v.Levels[l].showCrd(lo, hi)
}

func (singleParts) equal(t *Tensor, l int, lo, hi, x int64) (int64, int64) {
	return t.equalCrd(l, lo, hi, x)
}

func (singleParts) first(t *Tensor, l int, p int64) int64 { return p }

func (singleParts) path(t *Tensor, l int, p int64) (x, parent int64) { return t.crdAt(l, p), p }
