package store

import (
	"fmt"

	"distaff/io/tcs"
)

// bundle is a rank's part of a window. In memory, it has these parts, in this order: the number of
// rows of each of the rank's blocks, the keys of the rows (if rows are listed), the ends of the
// rows, the coordinates, and the values. Each part lists the blocks in the order of their boxes in
// the mode of the last level. The ends count from the block's first entry in the bundle.
type bundle struct {
	rows []int64 // by block of the rank
	list rowList
}

// heading returns the size in bytes of the first part of a rank's bundle for window w. This part
// holds the numbers of rows and, if rows are listed, the keys.
func (x *rows) heading(w, rank int) int64 {
	rows := x.rows[w*x.c.Size()+rank]
	if rows == 0 {
		return 0
	}
	n := x.held[rank]
	if x.isListed() {
		n += rows
	}
	return (8*n + 15) &^ 15
}

// size returns the size in bytes of a rank's bundle for window w.
func (x *rows) size(w, rank int) int64 {
	i := w*x.c.Size() + rank
	if x.rows[i] == 0 {
		return 0
	}
	_, vals := x.offsets(w, rank)
	return (vals + x.entries[i]*int64(x.t.Layout.Type.Size()) + 15) &^ 15
}

// offsets returns the aligned offsets of the coordinates and the values in a bundle.
func (x *rows) offsets(w, rank int) (crd, vals int64) {
	i := w*x.c.Size() + rank
	crd = x.heading(w, rank) + (4*x.rows[i]+7)&^7
	return crd, crd + (x.entries[i]*x.crdWidth()+7)&^7
}

// crdWidth returns the width in bytes of the last level's coordinates in the file.
func (x *rows) crdWidth() int64 { return int64(x.lay.Sections()[x.crd[x.row+1]].Width) }

// headingOf returns a rank's bundle for window w that has memory only for the row counts and the
// keys. mem is this memory and has at least heading(w, rank) bytes.
func (x *rows) headingOf(mem []byte, w, rank int) (q bundle) {
	n, rows := x.held[rank], x.rows[w*x.c.Size()+rank]
	if rows > 0 {
		q.rows = words[int64](mem[:8*n])
		if x.isListed() {
			q.list.keys = words[int64](mem[8*n : 8*(n+rows)])
		}
	}
	return q
}

// bundle returns a rank's bundle for window w. mem has size(w, rank) bytes.
func (x *rows) bundle(mem []byte, w, rank int) bundle {
	q, i := x.headingOf(mem, w, rank), w*x.c.Size()+rank
	if x.rows[i] == 0 {
		return q
	}
	crd, vals := x.offsets(w, rank)
	at := x.heading(w, rank)
	q.list.ends = words[int32](mem[at : at+4*x.rows[i]])
	q.list.crd = mem[crd : crd+x.entries[i]*x.crdWidth()]
	q.list.vals = mem[vals : vals+x.entries[i]*int64(x.t.Layout.Type.Size())]
	return q
}

// packHeading fills in the row counts and keys of this rank's bundle for window w.
func (x *rows) packHeading(q bundle, w int) {
	if len(q.rows) == 0 {
		return
	}
	n, keys := 0, q.list.keys
	for _, k := range x.order {
		if x.t.Owners[k] != x.c.Rank() {
			continue
		}
		q.rows[n] = 0
		if b := x.t.Own[k]; b != nil {
			lo, hi := x.cuts[k][w], x.cuts[k][w+1]
			q.rows[n] = hi - lo
			if x.isListed() {
				x.keys(keys[:hi-lo], b, lo)
				keys = keys[hi-lo:]
			}
		}
		n++
	}
	if len(keys) > 0 {
		panic(fmt.Sprintf("BUG: store: a bundle lacks %d rows", len(keys)))
	}
}

// pack writes this rank's part of window w into the bundle q: the row counts and keys, and then the
// ends, coordinates and values.
func (x *rows) pack(q bundle, w int) {
	x.packHeading(q, w)
	list := q.list
	for _, k := range x.order {
		if x.t.Own[k] == nil {
			continue
		}
		p := x.part(k, w, list)
		if len(p.crd) > 0 && &p.crd[0] != &list.crd[0] {
			copy(list.crd, p.crd)
		}
		copy(list.vals, p.vals)
		list.drop(p)
	}
	if len(list.ends)+len(list.crd)+len(list.vals) > 0 {
		panic(fmt.Sprintf("BUG: store: a bundle lacks %d rows and %d bytes of values",
			len(list.ends), len(list.vals)))
	}
}

// part returns the rows of this rank's block k that belong to window w. It computes where each row
// ends and stores the ends in buf. If rows are listed, buf must already contain the keys of the
// rows. The values are not copied: the result refers to the block's own memory. The coordinates are
// not copied either if they have the same width in the file and in the block. Otherwise part
// converts the coordinates and stores them in buf.
func (x *rows) part(k, w int, buf rowList) (p rowList) {
	lo, hi := x.cuts[k][w], x.cuts[k][w+1]
	if lo == hi {
		return p
	}
	b, size := x.t.Own[k], int64(x.t.Layout.Type.Size())
	lev := &b.Levels[x.row+1]
	if p.ends = buf.ends[:hi-lo]; x.isListed() {
		p.keys = buf.keys[:hi-lo]
	}
	rowEnds(p.ends, lev.Pos.Sub(lo, hi+1))
	from, to := lev.Pos.Int(lo)-lev.Pos.Int(0), lev.Pos.Int(hi)-lev.Pos.Int(0)
	if from < to {
		p.crd = inWidth(lev.Crd.Sub(from, to), x.crdWidth(), buf.crd)
		p.vals = b.Vals.Bytes()[from*size : to*size]
	}
	return p
}

// part is the rows of one block in a window.
type part struct {
	block int
	list  rowList
}

// parts returns the rows of each block in window w, in the order of the blocks' boxes in the mode
// of the last level. It leaves out blocks without rows in w.
func (x *rows) parts(w int, bundles []bundle) []part {
	var list []part
	me, size, width := x.c.Rank(), int64(x.t.Layout.Type.Size()), x.crdWidth()
	for _, k := range x.order {
		q := &bundles[x.t.Owners[k]]
		if len(q.rows) == 0 {
			continue
		}
		n := q.rows[0]
		q.rows = q.rows[1:]
		if n == 0 {
			continue
		}
		var p rowList
		if x.t.Owners[k] == me {
			p = x.part(k, w, q.list)
		} else {
			entries := int64(q.list.ends[n-1])
			p.ends = q.list.ends[:n]
			p.crd, p.vals = q.list.crd[:entries*width], q.list.vals[:entries*size]
			if x.isListed() {
				p.keys = q.list.keys[:n]
			}
		}
		q.list.drop(p)
		list = append(list, part{k, p})
	}
	return list
}

// rowEnds sets dst to the ends of pos's segments, counted from the start of the first segment.
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

// inWidth returns the coordinates as bytes, with width bytes for each coordinate. If crd has this
// width, the result is the memory of crd. Otherwise the result is a converted copy in buf.
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

// narrow sets dst to the coordinates of crd, in the width of T.
func narrow[T int32 | int64](dst []T, crd tcs.Array) {
	for i := range dst {
		dst[i] = T(crd.Int(int64(i)))
	}
}
