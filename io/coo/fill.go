package coo

import (
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// filler makes the second pass. It gets the entries in storage order. For each entry it appends the
// new positions, the new coordinates and the value to the tensor's arrays.
type filler struct {
	spec   *Spec
	levels []fillLevel
	vals   *sink
	// clash[k] is the singleton level that gets a second child from an entry with first difference
	// k, or -1
	clash    []int
	prev     []int64 // coordinates of the last entry
	any      bool
	hasClash bool // some element of clash is a level
	size     int
	diff     []uint8
	at       []int64 // positions of the entries of a block
}

type fillLevel struct {
	kind         tensor.Kind
	depth        uint8 // an entry whose first difference is at most depth has a new position
	size, offset int64
	// for a singleton level: the number of positions that must be absent together. Positions
	// without a child get the coordinate -1. span is 1 for a p level. Below a p level it is the
	// number of positions in one slot of that level. It is 0 if each position must have a child
	span     int64
	pos, crd *sink
}

// newFiller returns a filler for a tensor of the given shape. sinkOf returns the sink for an array
// of the tensor.
func newFiller(spec *Spec, shape *tcs.Shape,
	sinkOf func(level int, part tcs.ArrayKind) *sink) *filler {
	n := len(shape.Format.Levels)
	depth := shape.Format.Sharing()
	f := &filler{spec: spec, levels: make([]fillLevel, n), clash: make([]int, n+1),
		prev: make([]int64, n),
		size: int(shape.Header.Type.Size()), vals: sinkOf(-1, tcs.ValsArray)}
	for l := range f.levels {
		r := shape.Header.Range(shape.Format.Order[l])
		lev := fillLevel{kind: shape.Format.Levels[l], depth: uint8(depth[l])}
		switch lev.kind.Form() {
		case tensor.Full:
			lev.size, lev.offset = r[1]-r[0], r[0]
		case tensor.Segmented:
			lev.pos, lev.crd = sinkOf(l, tcs.PosArray), sinkOf(l, tcs.CrdArray)
		case tensor.Single:
			lev.crd = sinkOf(l, tcs.CrdArray)
			lev.span = 1
			if !lev.kind.IsPadded() {
				lev.span = padSpan(f.levels[:l])
			}
		}
		f.levels[l] = lev
	}
	for k := range f.clash {
		f.clash[k] = -1
		for l := n - 1; l >= 0; l-- {
			parent := -1
			if l > 0 {
				parent = depth[l-1]
			}
			if shape.Format.Levels[l].IsSingle() && k > parent && k <= depth[l] {
				f.clash[k] = l
				f.hasClash = true
			}
		}
	}
	return f
}

// padSpan finds the innermost padded level (kind p) among the given levels. It returns the number
// of positions of the last level that belong to one position of this padded level. It returns 0 if
// no level is padded, or if a compressed level follows the padded one.
func padSpan(levels []fillLevel) int64 {
	span := int64(1)
	for l := len(levels) - 1; l >= 0; l-- {
		switch lev := &levels[l]; lev.kind.Form() {
		case tensor.Full:
			span *= lev.size
		case tensor.Segmented:
			return 0
		case tensor.Single:
			if lev.kind.IsPadded() {
				return span
			}
		}
	}
	return 0
}

// pad appends the coordinate -1 to the level's crd array for each position before upto that has no
// child yet. It returns false if the format does not allow that these positions have no child.
func (lev *fillLevel) pad(upto int64) bool {
	from := lev.crd.next()
	if from != upto && (lev.span == 0 || from%lev.span != 0 || upto%lev.span != 0) {
		return false
	}
	lev.crd.fill(-1, upto)
	return true
}

// resume sets the filler to its state after the entry with coordinates prev, one for each level.
// counts[l] is the number of coordinates of compressed level l at that point.
func (f *filler) resume(prev, counts []int64) {
	f.any = true
	copy(f.prev, prev)
	parent := int64(0)
	for l := range f.levels {
		lev := &f.levels[l]
		switch lev.kind.Form() {
		case tensor.Full:
			parent = parent*lev.size + prev[l] - lev.offset
		case tensor.Segmented:
			lev.pos.n = int(parent + 1)
			lev.crd.n = int(counts[l])
			parent = counts[l] - 1
		case tensor.Single:
			lev.crd.n = int(parent + 1)
		}
	}
	f.vals.n = int(parent + 1)
}

// addAll appends all entries of a reader. It stops when one of the given sinks has an error, for
// example because the disk is full.
func (f *filler) addAll(r reader, sinks []*sink) error {
	var b Batch
	for {
		n, err := r.next(&b)
		if n == 0 || err != nil {
			return err
		}
		if err := f.add(b.Coords, b.Vals, n); err != nil {
			return err
		}
		for _, s := range sinks {
			if s.err != nil {
				return s.err
			}
		}
	}
}

// add appends n entries. It appends to one level after another, so that each array is written in
// one loop.
func (f *filler) add(cols [][]int64, vals []byte, n int) error {
	for from := 0; from < n; from += BatchSize {
		to := min(from+BatchSize, n)
		if err := f.block(cols, vals, from, to); err != nil {
			return err
		}
	}
	return nil
}

// block appends the entries [from, to) of cols and vals to the arrays of the tensor. The range may
// have at most BatchSize entries, so that their coordinates fit in an empty window of a sink.
func (f *filler) block(cols [][]int64, vals []byte, from, to int) error {
	n := to - from
	if len(f.at) < n {
		f.diff, f.at = make([]uint8, n), make([]int64, n)
	}
	diff, at := f.diff[:n], f.at[:n]
	diffs(diff, cols, f.prev, f.any, from)
	if f.hasClash {
		for i, k := range diff {
			if f.clash[k] >= 0 && (f.any || i > 0) {
				return f.clashErr(f.clash[k], cols, from+i)
			}
		}
	}
	clear(at)
	for l := range f.levels {
		lev := &f.levels[l]
		col := cols[l][from:to]
		switch lev.kind.Form() {
		case tensor.Full:
			for i, x := range col {
				at[i] = at[i]*lev.size + x - lev.offset
			}
		case tensor.Segmented:
			if lev.crd.left() < n && lev.crd.file != nil {
				lev.crd.flush()
			}
			if lev.crd.width == 4 {
				appendChildren(lev, lev.crd.i32, diff, at, col)
			} else {
				appendChildren(lev, lev.crd.i64, diff, at, col)
			}
		case tensor.Single:
			for i, x := range col {
				if diff[i] > lev.depth {
					continue
				}
				if lev.crd.next() != at[i] && !lev.pad(at[i]) {
					return f.gapErr(l)
				}
				lev.crd.put(x)
			}
		}
		f.prev[l] = col[n-1]
	}
	f.any = true
	f.values(vals[from*f.size:to*f.size], at)
	return nil
}

// appendChildren appends the coordinates of new positions to the crd array of a compressed level.
// For entry i, col[i] is its coordinate in this level. diff[i] is the outermost level whose
// coordinate differs from the entry before it. at[i] is the entry's position in the level above,
// and appendChildren replaces it by the position in this level.
func appendChildren[T int32 | int64](lev *fillLevel, crd []T, diff []uint8, at, col []int64) {
	w := lev.crd.n
	base := lev.crd.base
	next := lev.pos.next()
	for i, x := range col {
		if diff[i] <= lev.depth {
			if parent := at[i]; next <= parent {
				lev.pos.fill(base+int64(w), parent+1)
				next = parent + 1
			}
			crd[w] = T(x)
			w++
		}
		at[i] = base + int64(w) - 1
	}
	lev.crd.n = w
}

// values stores vals at the positions in at, and zeros in the gaps between them.
func (f *filler) values(vals []byte, at []int64) {
	s := f.vals
	n := len(at)
	// positions never repeat, so there cannot be a gap
	if s.next() == at[0] && at[n-1]-at[0] == int64(n-1) {
		s.putValues(vals, n)
		return
	}
	for i, p := range at {
		s.fill(0, p)
		s.putValue(unsafe.Pointer(&vals[i*f.size]))
	}
}

// finish appends the elements that follow the last entry, such as the ends of pos arrays.
func (f *filler) finish() error {
	parents := int64(1)
	for l := range f.levels {
		lev := &f.levels[l]
		switch lev.kind.Form() {
		case tensor.Full:
			parents *= lev.size
		case tensor.Segmented:
			n := lev.crd.next()
			lev.pos.fill(n, parents+1)
			parents = n
		case tensor.Single:
			if !lev.pad(parents) {
				return f.gapErr(l)
			}
		}
	}
	f.vals.fill(0, parents)
	return nil
}

func (f *filler) clashErr(l int, cols [][]int64, i int) error {
	at := make([]int64, len(cols))
	for k := range at {
		at[f.spec.Format.Order[k]] = cols[k][i]
	}
	what := "a c or u level above it would repeat its coordinate for each"
	if f.levels[l].kind.IsPadded() {
		what = "a p level can store only one; want an s level, which can store any number"
	}
	return f.spec.dataErr(
		"entry %s gives a position of level %d (%c) of format %s a second coordinate: %s",
		formatCoords(at), l, f.levels[l].kind, f.spec.Format.String(), what)
}

func (f *filler) gapErr(l int) error {
	return f.spec.dataErr(
		"position %d above level %d (%c) of format %s has no coordinate, but %c needs exactly "+
			"one; want p, which also allows none",
		f.levels[l].crd.next(), l, f.levels[l].kind, f.spec.Format.String(),
		f.levels[l].kind)
}
