package store

import (
	"fmt"
	"hash/crc32"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// writeSegments writes the file: every rank sends the others what it has of
// their windows, and puts its own together. Collective.
func writeSegments(s *site, x *segments) error {
	near, err := x.t.nearby(x.c)
	if err != nil {
		return err
	}
	if near != nil {
		defer near.close(x.t)
		x.t, x.near = near, true
		allMine(x.rowWindows.entries, x.c)
	}
	var spans []coo.FileRange
	p := &parcels{c: x.c, limit: x.limit, first: x.rowWindows.first, near: x.near,
		size: func(w, rank int) int64 { n, _ := x.size(w, rank); return n },
		pack: func(mem []byte, w int) { x.pack(x.parcel(mem, w, x.c.Rank()), w) },
	}
	err = s.resizing(x.lay.Size(), func() error {
		return p.exchange(func() error {
			return s.write(func() (err error) { spans, err = x.receive(s, p); return err })
		})
	})
	if err != nil {
		return err
	}
	return s.finish(x.lay, spans)
}

// receive puts together and writes this rank's windows.
func (x *segments) receive(s *site, p *parcels) ([]coo.FileRange, error) {
	first, end := x.rowWindows.first[x.c.Rank()], x.rowWindows.first[x.c.Rank()+1]
	if first == end {
		return nil, nil
	}
	in, rows, entries := p.most(), int64(0), int64(0) // of a window, at most
	for w := first; w < end; w++ {
		lo, hi := x.rowWindows.span(w)
		rows, entries = max(rows, hi-lo), max(entries, x.rowWindows.starts[w+1]-x.rowWindows.starts[w])
	}
	a := &assembly{x: x, s: s}
	sections := x.lay.Sections()
	wide := func(n, width int64) int64 { return (n*width + 15) &^ 15 }
	sizes := []int64{in, in, wide(rows+1, 8), wide(rows+1, 8),
		wide(entries, int64(sections[x.crd].Width)), wide(entries, int64(sections[x.vals].Width))}
	bufs, mem, err := rooms(x.limit, sizes)
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	a.next, a.pos, a.crd, a.vals = words[int64](bufs[2]), bufs[3], bufs[4], bufs[5]
	lo, _ := x.rowWindows.span(first)
	n := x.rowWindows.starts[end] - x.rowWindows.starts[first]
	a.spans[0] = coo.FileRange{Section: int64(x.pos), From: lo + 1, N: x.rowWindows.ends[end-1] - lo}
	a.spans[1] = coo.FileRange{Section: int64(x.crd), From: x.rowWindows.starts[first], N: n}
	a.spans[2] = coo.FileRange{Section: int64(x.vals), From: x.rowWindows.starts[first], N: n}
	if first == 0 {
		a.spans[0].From, a.spans[0].N = 0, a.spans[0].N+1
	}
	err = p.each([2][]byte{bufs[0], bufs[1]}, a.window)
	return a.spans[:], err
}

// assembly is where a rank's windows are put together.
type assembly struct {
	x     *segments
	s     *site
	next  []int64 // where a row's next entry goes, in the window
	pos   []byte
	crd   []byte
	vals  []byte
	spans [3]coo.FileRange
}

// window puts a window together and writes it.
func (a *assembly) window(w int, in [][]byte) error {
	x := a.x
	parts := a.parts(w, in)
	lo, hi := x.rowWindows.span(w)
	next := a.next[:hi-lo+1]
	clear(next)
	ahead := map[*parcel][]int32{}
	for _, q := range parts {
		ahead[q] = q.counts
	}
	x.eachBlock(w, func(k int, p, n int64) {
		q := parts[k]
		for i, c := range ahead[q][:n] {
			next[p-lo+int64(i)+1] += int64(c)
		}
		ahead[q] = ahead[q][n:]
	})
	for i := range hi - lo {
		next[i+1] += next[i]
	}
	entries := x.rowWindows.starts[w+1] - x.rowWindows.starts[w]
	if next[hi-lo] != entries {
		panic(fmt.Sprintf("BUG: store: %d of %d entries in a window", next[hi-lo], entries))
	}
	sections := x.lay.Sections()
	from := lo
	ends := next
	if w > 0 { // 0, which comes before all rows' ends, is written once
		from, ends = lo+1, next[1:]
	}
	pos := a.ends(ends, x.rowWindows.starts[w], sections[x.pos].Width)
	size := int64(x.t.Type.Size())
	narrowCrd := sections[x.crd].Width == 4
	x.eachBlock(w, func(k int, p, n int64) {
		q := parts[k]
		var entries int64
		if at := next[p-lo : p-lo+n]; narrowCrd {
			entries = place(at, q.counts[:n], words[int32](a.crd), words[int32](q.crd), a.vals, q.vals, size)
		} else {
			entries = place(at, q.counts[:n], words[int64](a.crd), words[int64](q.crd), a.vals, q.vals, size)
		}
		q.drop(int(n), int(entries)*int(sections[x.crd].Width), int(entries*size))
	})
	if err := a.write(0, sections[x.pos], pos, from); err != nil {
		return err
	}
	if err := a.write(1, sections[x.crd], a.crd[:entries*int64(sections[x.crd].Width)],
		x.rowWindows.starts[w]); err != nil {
		return err
	}
	return a.write(2, sections[x.vals], a.vals[:entries*size], x.rowWindows.starts[w])
}

// parts are where each block's rows in window w are: those of other ranks' blocks
// in the parcel of all of them, in the order of eachBlock.
func (a *assembly) parts(w int, in [][]byte) []*parcel {
	x, me := a.x, a.x.c.Rank()
	parts, parcels := make([]*parcel, len(x.t.Owners)), make([]parcel, len(in))
	for rank, mem := range in {
		parcels[rank] = x.parcel(mem, w, rank)
	}
	buf := parcels[me]
	for _, k := range x.order {
		owner := x.t.Owners[k]
		parts[k] = &parcels[owner]
		if owner != me {
			continue
		}
		parts[k] = &parcel{}
		if x.t.Own[k] != nil {
			q := x.part(k, w, buf)
			parts[k] = &q
			buf.drop(len(q.counts), len(q.crd), 0)
		}
	}
	return parts
}

// eachBlock calls yield with the consecutive rows, n from p on, that block k has
// in window w: block by block as they follow in the last mode.
func (x *segments) eachBlock(w int, yield func(k int, p, n int64)) {
	lo, hi := x.rowWindows.span(w)
	for _, k := range x.order {
		x.f.eachRun(x.t.Boxes[k], lo, hi, func(_ []int64, p, n int64) { yield(k, p, n) })
	}
}

// place copies rows to where they go, moves that on, and returns their entries.
func place[T int32 | int64](at []int64, counts []int32, crd, from []T, vals, values []byte,
	size int64) int64 {
	if size == 8 {
		return copyRows(at, counts, crd, from, words[int64](vals), words[int64](values))
	}
	if size == 4 {
		return copyRows(at, counts, crd, from, words[int32](vals), words[int32](values))
	}
	k := int64(0)
	for i, c := range counts {
		p, n := at[i], int64(c)
		copy(crd[p:p+n], from[k:k+n])
		copy(vals[p*size:(p+n)*size], values[k*size:(k+n)*size])
		at[i], k = p+n, k+n
	}
	return k
}

// copyRows is place for values of one word.
func copyRows[T, V int32 | int64](at []int64, counts []int32, crd, from []T, vals,
	values []V) int64 {
	k := int64(0)
	for i, c := range counts {
		p, n := at[i], int64(c)
		if n > 16 {
			copy(crd[p:p+n], from[k:k+n])
			copy(vals[p:p+n], values[k:k+n])
		} else {
			d, s, e, u := crd[p:p+n], from[k:k+n], vals[p:p+n], values[k:k+n]
			for j := range d {
				d[j], e[j] = s[j], u[j]
			}
		}
		at[i], k = p+n, k+n
	}
	return k
}

// ends are the rows' ends in the file's width, base added.
func (a *assembly) ends(next []int64, base int64, width uint8) []byte {
	if width == 4 {
		dst := words[int32](a.pos)[:len(next)]
		for i, n := range next {
			dst[i] = int32(base + n)
		}
		return a.pos[:4*len(next)]
	}
	dst := words[int64](a.pos)[:len(next)]
	for i, n := range next {
		dst[i] = base + n
	}
	return a.pos[:8*len(next)]
}

// write writes bytes at element `from` of a section.
func (a *assembly) write(span int, sec tcs.Section, bytes []byte, from int64) error {
	a.spans[span].CRC = crc32.Update(a.spans[span].CRC, crc32.IEEETable, bytes)
	_, err := a.s.WriteAt(bytes, sec.Offset+from*int64(sec.Width))
	return err
}

// words is memory, which begins at a whole one, as numbers.
func words[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
