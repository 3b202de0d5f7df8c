package tcs

// A partitioner has the functions of a form of level by which a tensor is cut into
// parts (source 001, table I): how a range of parents, of coordinates or of positions
// is one of the level's own positions, and back. Positions are those of the whole
// tensor; what a view does not show is left out. A file that is not trusted
// gives wrong positions at worst.
type partitioner interface {
	// fromParent cuts level l's arrays to what lies under parents [lo, hi) and in
	// the box, and returns the interval of its positions.
	fromParent(v *Tensor, l int, lo, hi int64) (int64, int64, error)
	// fromChild cuts level l's arrays to positions [lo, hi), and returns the
	// interval of their parents, of which those at its ends have some of them.
	fromChild(v *Tensor, l int, lo, hi int64) (int64, int64)
	// equal is the interval of positions under parents [lo, hi) that have the
	// coordinate x: where there are none, where they would be. Of several parents, whose
	// coordinates agree, the coordinates grow from one to the next.
	equal(t *Tensor, l int, lo, hi, x int64) (int64, int64)
	// first is where the positions under parent p begin.
	first(t *Tensor, l int, p int64) int64
	// path is the coordinate of a position, and its parent.
	path(t *Tensor, l int, p int64) (x, parent int64)
}

// partitioners are by Form.
var partitioners = [...]partitioner{Full: fullParts{}, Segmented: segmentedParts{}, Single: singleParts{}}

// parts is the level's partitioner.
func (l *Level) parts() partitioner { return partitioners[l.Form()] }

// clampTo cuts [lo, hi) to what the array shows.
func clampTo(a Array, lo, hi int64) (int64, int64) {
	lo = min(max(lo, a.First), a.First+a.Len)
	hi = max(min(hi, a.First+a.Len), lo)
	return lo, hi
}

// showCrd cuts the level's crd to positions [lo, hi), and returns those that it shows.
func (l *Level) showCrd(lo, hi int64) (int64, int64) {
	lo, hi = clampTo(l.Crd, lo, hi)
	l.Crd = l.Crd.Sub(lo-l.Crd.First, hi-l.Crd.First)
	return lo, hi
}

// equalCrd is the interval of positions in [lo, hi) with the coordinate x.
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
	r := v.Range(lev.Mode)
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
		// Of no parents, the pos element where they would be is left: what
		// follows starts there, and ends.
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
	if v.lazy != nil && v.lazy.err != nil {
		return 0, 0, v.lazy.err
	}
	if a > b || a < 0 || !v.edges && (a < lev.Crd.First || b > lev.Crd.First+lev.Crd.Len) {
		return 0, 0, v.dataErr("positions [%d,%d) of level %d are outside its %s", a, b, l, Count(lev.Crd.Len, "coordinate"))
	}
	if hi-lo == 1 {
		f, r := lev.Crd.First, v.Range(lev.Mode)
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
	// The first parent is the last whose segment starts at or before lo
	// (empty segments before it hold nothing), the last the first whose
	// segment ends at or after hi. Of no positions, the pos element is left
	// that a part which starts there begins with.
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
