package store

import (
	"fmt"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// segments is a .tcs whose only compressed level is the last one, put together
// from blocks that each hold a part of a row's coordinates: a row of the result (a
// position of the dense levels) is its blocks' parts of that row, one after
// another in the order of their boxes in the last mode. Rows are cut in windows of
// bounded entries and rows; each rank writes consecutive ones.
type segments struct {
	c     comm.Comm
	t     *Blocks
	f     *frame // of rows
	own   []int
	order []int // all blocks, as their boxes follow in the last mode
	limit *tcs.Limit
	near  bool // all blocks are this rank's

	rowWindows rowWindows
	shape      *tcs.Shape
	lay        *tcs.File
	pos        int // sections
	crd        int
	vals       int
}

// windowsMost bounds what the ranks tell one another of windows, in numbers.
const windowsMost = 1 << 20

// newSegments is nil, at every rank, where blocks are stored in another way than
// the result, where other levels than the last one are compressed, or where one row has
// more entries than a window. Collective.
func newSegments(c comm.Comm, t *Blocks, limit *tcs.Limit) (*segments, error) {
	levels := len(t.Kinds)
	if levels < 2 || strings.TrimLeft(t.Kinds, "d") != "s" {
		return nil, nil
	}
	fine := t.stored()
	for _, k := range t.numbers() {
		fine = fine && exact(t.Own[k])
	}
	if fine, err := agree(c, fine); err != nil || !fine {
		return nil, err
	}
	x := &segments{c: c, t: t, f: newFrame(t.Dims, t.Modes[:levels-1]), own: t.numbers(), limit: limit}
	x.order = t.along(t.Modes[levels-1])
	if ok, err := x.cut(); err != nil || !ok {
		return nil, err
	}
	counts := make([]int64, levels)
	rows := int64(1)
	for l := range levels - 1 {
		rows *= x.f.dims[l]
		counts[l] = rows
	}
	counts[levels-1] = x.rowWindows.starts[len(x.rowWindows.ends)]
	x.shape = t.shape(counts)
	var err error
	if x.lay, err = tcs.NewFile(x.shape); err != nil {
		return nil, err
	}
	for i, sec := range x.lay.Sections() {
		switch sec.Array {
		case tcs.ValsArray:
			x.vals = i
		case tcs.CrdArray:
			x.crd = i
		default:
			x.pos = i
		}
	}
	return x, nil
}

// cut divides the rows in windows and the windows among the ranks. ok is false
// where that cannot be done within bounds. Collective.
func (x *segments) cut() (ok bool, err error) {
	ranks, entry := x.c.Size(), 8+int64(x.t.Type.Size())
	sum := []int64{0}
	var runs []*run
	for _, k := range x.own {
		sum[0] += x.t.Own[k].Vals.Len
		runs = append(runs, &run{t: x.t.Own[k]})
	}
	if err := x.c.Allreduce(comm.Of(sum), comm.Sum); err != nil {
		return false, err
	}
	bytes, err := bufferBytes(x.c, x.limit)
	if err != nil {
		return false, err
	}
	bytes = window(bytes, 2*ranks+4)
	good := wanted(bytes, sum[0]*entry+x.f.total*x.perRow(), ranks)
	parts, step := sum[0]/(good/entry)+1, good/x.perRow()
	if x.f.total == 0 || (parts+x.f.total/step+1)*int64(ranks) > windowsMost {
		return false, nil
	}
	if x.rowWindows.ends, err = cutRows(x.c, runs, x.f, int(parts)); err != nil {
		return false, err
	}
	for row := step; row < x.f.total; row += step {
		x.rowWindows.ends = append(x.rowWindows.ends, row)
	}
	slices.Sort(x.rowWindows.ends)
	x.rowWindows.ends = slices.Compact(x.rowWindows.ends)
	x.rowWindows.entries = make([]int64, len(x.rowWindows.ends)*ranks)
	for w := range x.rowWindows.ends {
		for _, k := range x.own {
			pos := x.t.Own[k].Levels[len(x.t.Kinds)-1].Pos
			lo, hi := x.rows(k, w)
			if lo < hi {
				x.rowWindows.entries[w*ranks+x.c.Rank()] += pos.Int(hi) - pos.Int(lo)
			}
		}
	}
	if err := x.c.Allreduce(comm.Of(x.rowWindows.entries), comm.Sum); err != nil {
		return false, err
	}
	return x.rowWindows.share(ranks, 2*bytes/entry, func(w int, n int64) int64 {
		lo, hi := x.rowWindows.span(w)
		return n*entry + 8*(hi-lo)
	}), nil
}

// perRow is the bytes that a row takes, whatever its entries: a count for each block
// that has a part of it, at most, and where it begins.
func (x *segments) perRow() int64 {
	last, parts := x.t.Modes[len(x.t.Kinds)-1], map[[2]int64]bool{}
	for _, box := range x.t.Boxes {
		parts[box[last]] = true
	}
	return int64(4*len(parts) + 16)
}

// rows are those of block k in window w, as the block counts them.
func (x *segments) rows(k, w int) (lo, hi int64) {
	a, b := x.rowWindows.span(w)
	return x.f.before(x.t.Boxes[k], a), x.f.before(x.t.Boxes[k], b)
}

// parcel is what one rank has of a window: how many entries each of its blocks
// has of each row, then all coordinates in the file's width, then all values.
type parcel struct {
	counts []int32
	crd    []byte
	vals   []byte
}

// size is the bytes of rank's parcel of window w, and the rows in it.
func (x *segments) size(w, rank int) (bytes, rows int64) {
	for k, owner := range x.t.Owners {
		if owner == rank {
			lo, hi := x.rows(k, w)
			rows += max(hi-lo, 0)
		}
	}
	_, vals := x.offsets(w, rank, rows)
	return (vals + x.rowWindows.entries[w*x.c.Size()+rank]*int64(x.t.Type.Size()) + 15) &^ 15, rows
}

// offsets are where a parcel's coordinates and values begin, at whole words.
func (x *segments) offsets(w, rank int, rows int64) (crd, vals int64) {
	crd = (4*rows + 7) &^ 7
	n := x.rowWindows.entries[w*x.c.Size()+rank] * int64(x.lay.Sections()[x.crd].Width)
	return crd, crd + (n+7)&^7
}

// parcel is mem, of that size, as rank's parcel of window w.
func (x *segments) parcel(mem []byte, w, rank int) parcel {
	_, rows := x.size(w, rank)
	crd, vals := x.offsets(w, rank, rows)
	n := x.rowWindows.entries[w*x.c.Size()+rank]
	return parcel{
		counts: words[int32](mem[:4*rows]),
		crd:    mem[crd : crd+n*int64(x.lay.Sections()[x.crd].Width)],
		vals:   mem[vals : vals+n*int64(x.t.Type.Size())],
	}
}

// pack fills in this rank's parcel of window w.
func (x *segments) pack(p parcel, w int) {
	for _, k := range x.order {
		if x.t.Own[k] == nil {
			continue
		}
		q := x.part(k, w, p)
		if len(q.crd) > 0 && &q.crd[0] != &p.crd[0] {
			copy(p.crd, q.crd)
		}
		copy(p.vals, q.vals)
		p.drop(len(q.counts), len(q.crd), len(q.vals))
	}
	if len(p.counts)+len(p.crd)+len(p.vals) > 0 {
		panic(fmt.Sprintf("BUG: store: a parcel lacks %d rows and %d bytes of values", len(p.counts),
			len(p.vals)))
	}
}

// drop moves on past rows, and bytes of their coordinates and values.
func (p *parcel) drop(rows, crd, vals int) {
	p.counts, p.crd, p.vals = p.counts[rows:], p.crd[crd:], p.vals[vals:]
}

// part is own block k's rows in window w. Its counts, and coordinates that have
// another width in the file, are in buf's memory; the rest is the block's.
func (x *segments) part(k, w int, buf parcel) (q parcel) {
	b, width, size := x.t.Own[k], int64(x.lay.Sections()[x.crd].Width), int64(x.t.Type.Size())
	lo, hi := x.rows(k, w)
	if lo >= hi {
		return q
	}
	lev := &b.Levels[len(b.Levels)-1]
	q.counts = buf.counts[:hi-lo]
	rowCounts(q.counts, lev.Pos.Sub(lo, hi+1))
	from, to := lev.Pos.Int(lo)-lev.Pos.Int(0), lev.Pos.Int(hi)-lev.Pos.Int(0)
	if from == to {
		return q
	}
	q.crd = inWidth(lev.Crd.Sub(from, to), width, buf.crd)
	q.vals = b.Vals.Bytes()[from*size : to*size]
	return q
}

// rowCounts are the lengths of pos's segments.
func rowCounts(dst []int32, pos tcs.Array) {
	if pos.Width == 4 {
		p := tcs.Slice[int32](pos)
		for i := range dst {
			dst[i] = p[i+1] - p[i]
		}
		return
	}
	p := tcs.Slice[int64](pos)
	for i := range dst {
		dst[i] = int32(p[i+1] - p[i])
	}
}

// narrow copies coordinates to another width.
func narrow[T int32 | int64](dst []T, crd tcs.Array) {
	for i := range dst {
		dst[i] = T(crd.Int(int64(i)))
	}
}
