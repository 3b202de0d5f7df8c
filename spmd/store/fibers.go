package store

import (
	"math/bits"
	"sort"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// fibers is a .tcs of compressed levels under dense ones, put together from blocks
// that each hold a part of a row's coordinates. A row is a fiber of the last level; its
// key is the linear position of the coordinates above it, which orders rows as they
// are stored. A row of the result is its blocks' parts of it, one after another in the
// order of their boxes in the last mode. Rows are cut by key in windows of bounded
// entries; each rank writes consecutive ones, in two passes: one over the keys alone
// counts the nodes of the levels above, and one writes.
type fibers struct {
	c     comm.Comm
	t     *Blocks
	f     *frame // of the levels above the last
	dense int    // leading dense levels
	row   int    // the level of rows, the last but one
	own   []int
	order []int // all blocks, as their boxes follow in the last mode
	limit *tcs.Limit
	bytes int64 // of all buffers
	near  bool  // all blocks are this rank's

	rowWindows rowWindows
	cuts       map[int][]int64 // of each own block, the rows before each window, and all
	rows       []int64         // of each window, a rank: [window*ranks + rank]

	nodes [][]int64 // by level, from dense to row: nodes before each window, and all
	last  []int64   // the last key of a window, or of one before it; -1 for none

	lay      *tcs.File
	pos, crd []int // sections, by level
	vals     int
}

// smaller is what windows of fibers are divided by; tests have many of little data.
var smaller int64 = 1

// newFibers is nil, at every rank, where blocks are stored in another way than the
// result, where levels are not dense ones above two or more compressed ones,
// where a fiber is empty, or where one row has more entries than a window. Collective.
func newFibers(c comm.Comm, t *Blocks, limit *tcs.Limit) (*fibers, error) {
	levels := len(t.Kinds)
	s := strings.TrimLeft(t.Kinds, "d")
	if len(s) < 2 || strings.Trim(s, "s") != "" || !countable(t.Dims, t.Modes[:levels-1]) {
		return nil, nil
	}
	x := &fibers{c: c, t: t, f: newFrame(t.Dims, t.Modes[:levels-1]), dense: levels - len(s),
		row: levels - 2, own: t.numbers(), limit: limit}
	fine := t.stored()
	for _, k := range x.own {
		fine = fine && exact(t.Own[k]) && full(t.Own[k], x.dense)
	}
	if fine, err := agree(c, fine); err != nil || !fine {
		return nil, err
	}
	x.order = t.along(t.Modes[levels-1])
	if ok, err := x.cut(); err != nil || !ok {
		return nil, err
	}
	return x, nil
}

// countable tells whether keys of the modes' coordinates fit.
func countable(dims []int64, modes []int) bool {
	n := uint64(1)
	for _, m := range modes {
		hi, lo := bits.Mul64(n, uint64(dims[m]))
		if hi != 0 || lo > 1<<62 {
			return false
		}
		n = lo
	}
	return n > 0
}

// full tells whether no fiber below the first compressed level, which is level l, is empty.
func full(b *tcs.Tensor, l int) bool {
	for l++; l < len(b.Levels); l++ {
		pos := b.Levels[l].Pos
		ok := false
		if pos.Width == 4 {
			ok = rising(tcs.Slice[int32](pos))
		} else {
			ok = rising(tcs.Slice[int64](pos))
		}
		if !ok {
			return false
		}
	}
	return true
}

func rising[T int32 | int64](pos []T) bool {
	if len(pos) == 0 {
		return true
	}
	last, less := pos[0], T(0)
	for _, p := range pos[1:] {
		less |= p - last - 1
		last = p
	}
	return less >= 0
}

// entry is the bytes that an entry takes in a message and in its place, at most.
func (x *fibers) entry() int64 { return 20 + int64(x.t.Type.Size()) }

// cut divides the rows in windows and the windows among the ranks. ok is false
// where that cannot be done within bounds. Collective.
func (x *fibers) cut() (ok bool, err error) {
	ranks := x.c.Size()
	sum := []int64{0}
	var runs []*run
	for _, k := range x.own {
		sum[0] += x.t.Own[k].Vals.Len
		runs = append(runs, &run{t: x.t.Own[k]})
	}
	if err := x.c.Allreduce(comm.Of(sum), comm.Sum); err != nil {
		return false, err
	}
	if x.bytes, err = bufferBytes(x.c, x.limit); err != nil {
		return false, err
	}
	bytes := window(x.bytes, 2*ranks+4+x.halves())
	most := max(bytes/x.entry()/smaller, 1)
	want := max(wanted(bytes, sum[0]*x.entry(), ranks)/x.entry()/smaller, 1)
	parts := sum[0]/want + 1
	if parts*int64(ranks) > windowsMost {
		return false, nil
	}
	if x.rowWindows.ends, err = cutRows(x.c, runs, x.f, int(parts)); err != nil {
		return false, err
	}
	x.rows, x.rowWindows.entries = make([]int64, len(x.rowWindows.ends)*ranks),
		make([]int64, len(x.rowWindows.ends)*ranks)
	x.cutBlocks()
	for _, k := range x.own {
		pos, at := x.t.Own[k].Levels[x.row+1].Pos, x.cuts[k]
		for w := range x.rowWindows.ends {
			i := w*ranks + x.c.Rank()
			x.rows[i] += at[w+1] - at[w]
			x.rowWindows.entries[i] += pos.Int(at[w+1]) - pos.Int(at[w])
		}
	}
	for _, counts := range [][]int64{x.rows, x.rowWindows.entries} {
		if err := x.c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return false, err
		}
	}
	return x.rowWindows.share(ranks, 2*most, func(_ int, n int64) int64 { return n }), nil
}

// cutBlocks finds where windows cut this rank's blocks.
func (x *fibers) cutBlocks() {
	x.cuts = map[int][]int64{}
	for k, b := range x.t.Own {
		at := []int64{0}
		for _, end := range x.rowWindows.ends {
			at = append(at, x.before(b, at[len(at)-1], end))
		}
		x.cuts[k] = at
	}
}

// nearby makes all blocks this rank's.
func (x *fibers) nearby(t *Blocks) {
	x.t, x.near = t, true
	x.cutBlocks()
	for _, counts := range [][]int64{x.rows, x.rowWindows.entries} {
		allMine(counts, x.c)
	}
}

// before counts the rows of a block whose key is below `key`: they are at least so many.
func (x *fibers) before(b *tcs.Tensor, least, key int64) int64 {
	n := b.Levels[x.row].Crd.Len - least
	return least + int64(sort.Search(int(n), func(i int) bool {
		var at [1]int64
		x.keys(at[:], b, least+int64(i))
		return at[0] >= key
	}))
}

// keys are those of a block's rows from number lo on.
func (x *fibers) keys(dst []int64, b *tcs.Tensor, lo int64) {
	if len(dst) == 0 {
		return
	}
	// The node of each level above that the next row lies in, and the key of its first row.
	at, base := make([]int64, x.row+1), make([]int64, x.row+1)
	row := &b.Levels[x.row]
	at[x.row] = row.Crd.First + lo
	top := int64(0) // the position of the dense levels
	for l := x.row; l >= x.dense; l-- {
		pos := b.Levels[l].Pos
		p := pos.First + after(pos, at[l]) - 1
		if l > x.dense {
			at[l-1] = p
		} else {
			top = p
		}
	}
	under := x.denseKey(b, top)
	parent := func(l int) (p, key int64) {
		if l == x.dense {
			return top, under
		}
		return at[l-1], base[l-1]
	}
	for l := x.dense; l < x.row; l++ {
		_, key := parent(l)
		base[l] = key + b.Levels[l].Crd.At(at[l])*x.f.stride[l]
	}
	var next func(l int) // moves on to the next node of level l
	next = func(l int) {
		if l < x.dense {
			top++
			under = x.denseKey(b, top)
			return
		}
		at[l]++
		for p, _ := parent(l); b.Levels[l].Pos.At(p+1) <= at[l]; p, _ = parent(l) {
			next(l - 1)
		}
		_, key := parent(l)
		base[l] = key + b.Levels[l].Crd.At(at[l])*x.f.stride[l]
	}
	for done := int64(0); ; {
		p, key := parent(x.row)
		from := at[x.row] - row.Crd.First
		to := min(row.Pos.At(p+1)-row.Crd.First, from+int64(len(dst))-done)
		addTo(dst[done:], row.Crd.Sub(from, to), key)
		if done += to - from; done == int64(len(dst)) {
			return
		}
		at[x.row] = row.Crd.First + to
		for p, _ := parent(x.row); row.Pos.At(p+1) <= at[x.row]; p, _ = parent(x.row) {
			next(x.row - 1)
		}
	}
}

// denseKey is the key at which the rows below a position of the dense levels begin.
func (x *fibers) denseKey(b *tcs.Tensor, p int64) int64 {
	key := int64(0)
	for l := x.dense - 1; l >= 0; l-- {
		lev, c := &b.Levels[l], p
		if l > 0 {
			c, p = p%lev.Size, p/lev.Size
		}
		key += (lev.Offset + c) * x.f.stride[l]
	}
	return key
}

// addTo sets dst to coordinates plus base.
func addTo(dst []int64, crd tcs.Array, base int64) {
	if crd.Width == 4 {
		sums(dst, tcs.Slice[int32](crd), base)
	} else {
		sums(dst, tcs.Slice[int64](crd), base)
	}
}

func sums[T int32 | int64](dst []int64, crd []T, base int64) {
	dst = dst[:len(crd)]
	for i, c := range crd {
		dst[i] = base + int64(c)
	}
}
