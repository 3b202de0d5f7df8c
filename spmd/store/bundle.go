package store

import (
	"fmt"

	"distaff/io/tcs"
)

// bundle is what a rank has of a window of fibers: how many rows each of its blocks
// has there, then all keys, all ends, all coordinates and all values, block by block as
// they follow in the last mode.
type bundle struct {
	rows    []int64 // by block of the rank
	rowList rowList
}

// blocks is how many blocks a rank has.
func (x *fibers) blocks(rank int) (n int64) {
	for _, owner := range x.t.Owners {
		if owner == rank {
			n++
		}
	}
	return n
}

// listed is the bytes of the rows' numbers and keys in a rank's bundle of window w.
func (x *fibers) listed(w, rank int) int64 {
	rows := x.rows[w*x.c.Size()+rank]
	if rows == 0 {
		return 0
	}
	return (8*(x.blocks(rank)+rows) + 15) &^ 15
}

// size is the bytes of a rank's bundle of window w.
func (x *fibers) size(w, rank int) int64 {
	i := w*x.c.Size() + rank
	if x.rows[i] == 0 {
		return 0
	}
	_, vals := x.offsets(w, rank)
	return (vals + x.rowWindows.entries[i]*int64(x.t.Type.Size()) + 15) &^ 15
}

// offsets are where a bundle's coordinates and values begin, at whole words.
func (x *fibers) offsets(w, rank int) (crd, vals int64) {
	i := w*x.c.Size() + rank
	crd = x.listed(w, rank) + (4*x.rows[i]+7)&^7
	return crd, crd + (x.rowWindows.entries[i]*x.crdWidth()+7)&^7
}

func (x *fibers) crdWidth() int64 { return int64(x.lay.Sections()[x.crd[x.row+1]].Width) }

// keysOf is mem, of at least as many bytes as are listed, as a rank's bundle of window w, but
// for what follows the keys.
func (x *fibers) keysOf(mem []byte, w, rank int) (q bundle) {
	n, rows := x.blocks(rank), x.rows[w*x.c.Size()+rank]
	if rows > 0 {
		q.rows, q.rowList.keys = words[int64](mem[:8*n]), words[int64](mem[8*n:8*(n+rows)])
	}
	return q
}

// bundle is mem, of that size, as a rank's bundle of window w.
func (x *fibers) bundle(mem []byte, w, rank int) bundle {
	q, i := x.keysOf(mem, w, rank), w*x.c.Size()+rank
	if x.rows[i] == 0 {
		return q
	}
	crd, vals := x.offsets(w, rank)
	at := x.listed(w, rank)
	q.rowList.ends = words[int32](mem[at : at+4*x.rows[i]])
	q.rowList.crd = mem[crd : crd+x.rowWindows.entries[i]*x.crdWidth()]
	q.rowList.vals = mem[vals : vals+x.rowWindows.entries[i]*int64(x.t.Type.Size())]
	return q
}

// packKeys fills in the rows' numbers and keys of this rank's bundle of window w.
func (x *fibers) packKeys(q bundle, w int) {
	if len(q.rowList.keys) == 0 {
		return
	}
	n := 0
	for _, k := range x.order {
		if x.t.Owners[k] != x.c.Rank() {
			continue
		}
		q.rows[n] = 0
		if b := x.t.Own[k]; b != nil {
			lo, hi := x.cuts[k][w], x.cuts[k][w+1]
			q.rows[n] = hi - lo
			x.keys(q.rowList.keys[:hi-lo], b, lo)
			q.rowList.keys = q.rowList.keys[hi-lo:]
		}
		n++
	}
	if len(q.rowList.keys) > 0 {
		panic(fmt.Sprintf("BUG: store: a bundle lacks %d rows", len(q.rowList.keys)))
	}
}

// pack fills in this rank's bundle of window w.
func (x *fibers) pack(q bundle, w int) {
	x.packKeys(q, w)
	for _, k := range x.order {
		if x.t.Own[k] == nil {
			continue
		}
		p := x.part(k, w, q.rowList)
		if len(p.crd) > 0 && &p.crd[0] != &q.rowList.crd[0] {
			copy(q.rowList.crd, p.crd)
		}
		copy(q.rowList.vals, p.vals)
		q.rowList.drop(p)
	}
	if len(q.rowList.ends)+len(q.rowList.crd)+len(q.rowList.vals) > 0 {
		panic(fmt.Sprintf("BUG: store: a bundle lacks %d rows and %d bytes of values",
			len(q.rowList.ends), len(q.rowList.vals)))
	}
}

// part is own block k's rows in window w, whose keys are in buf. Its ends, and
// coordinates that have another width in the file, are in buf's memory; the rest is the
// block's.
func (x *fibers) part(k, w int, buf rowList) (p rowList) {
	lo, hi := x.cuts[k][w], x.cuts[k][w+1]
	if lo == hi {
		return p
	}
	b, size := x.t.Own[k], int64(x.t.Type.Size())
	lev := &b.Levels[x.row+1]
	p.keys, p.ends = buf.keys[:hi-lo], buf.ends[:hi-lo]
	rowEnds(p.ends, lev.Pos.Sub(lo, hi+1))
	from, to := lev.Pos.Int(lo)-lev.Pos.Int(0), lev.Pos.Int(hi)-lev.Pos.Int(0)
	p.crd = inWidth(lev.Crd.Sub(from, to), x.crdWidth(), buf.crd)
	p.vals = b.Vals.Bytes()[from*size : to*size]
	return p
}

// rowEnds are the ends of pos's segments, counted from where the first begins.
func rowEnds(dst []int32, pos tcs.Array) {
	if pos.Width == 4 {
		p := tcs.Slice[int32](pos)
		for i, end := range p[1:] {
			dst[i] = end - p[0]
		}
		return
	}
	p := tcs.Slice[int64](pos)
	for i, end := range p[1:] {
		dst[i] = int32(end - p[0])
	}
}

// inWidth is coordinates as bytes of that width: as they are, or in buf.
func inWidth(crd tcs.Array, width int64, buf []byte) []byte {
	if int64(crd.Width) == width {
		return crd.Bytes()
	}
	buf = buf[:crd.Len*width]
	if width == 4 {
		narrow(words[int32](buf), crd)
	} else {
		narrow(words[int64](buf), crd)
	}
	return buf
}
