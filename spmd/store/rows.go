package store

import (
	"fmt"
	"hash/crc32"
	"sync"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// writeSegments writes the file: every rank sends the others what it has of
// their windows, and puts its own together. Collective.
func writeSegments(s *site, x *segments) error {
	if err := s.resize(x.lay.Size()); err != nil {
		return err
	}
	var senders sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for to := range x.c.Size() {
		if to == x.c.Rank() {
			continue
		}
		senders.Go(func() {
			if err := x.send(to); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = err
					x.c.Abort(comm.ExitCode(err), err.Error())
				}
			}
		})
	}
	var spans []coo.Span
	done := x.c.Busy()
	err := s.write(func() (err error) { spans, err = x.receive(s); return err })
	done()
	if err != nil {
		x.c.Abort(comm.ExitCode(err), err.Error())
	}
	senders.Wait()
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return s.finish(x.lay, spans)
}

// send sends this rank's parcels of rank `to`'s windows: one is put together
// while the one before it is on its way.
func (x *segments) send(to int) error {
	most := int64(0)
	for w := x.first[to]; w < x.first[to+1]; w++ {
		n, _ := x.size(w, x.c.Rank())
		most = max(most, n)
	}
	if most == 0 {
		return nil
	}
	mem, err := tcs.Alloc(x.limit, 2*most, "buffers to store the result")
	if err != nil {
		return err
	}
	defer mem.Release()
	bufs := [2][]byte{mem.Slice()[:most], mem.Slice()[most:]}
	var under *comm.Request
	for w := x.first[to]; w < x.first[to+1] && err == nil; w++ {
		n, _ := x.size(w, x.c.Rank())
		if n == 0 {
			continue
		}
		x.pack(x.parcel(bufs[0][:n], w, x.c.Rank()), w)
		if err = comm.WaitAll(under); err != nil {
			return err
		}
		under, err = x.c.Isend(comm.MemOf(bufs[0][:n]), to, tagValues)
		bufs[0], bufs[1] = bufs[1], bufs[0]
	}
	if e := comm.WaitAll(under); err == nil {
		err = e
	}
	return err
}

// coming is a window's parcels, by rank, on their way.
type coming struct {
	mem   [][]byte
	under []*comm.Request
}

// ask starts to receive the parcels of window w.
func (x *segments) ask(w int, mem []byte) (*coming, error) {
	v := &coming{mem: make([][]byte, x.c.Size())}
	for rank := range v.mem {
		n, _ := x.size(w, rank)
		v.mem[rank], mem = mem[:n], mem[n:]
		if rank == x.c.Rank() || n == 0 {
			continue
		}
		q, err := x.c.Irecv(comm.MemOf(v.mem[rank]), rank, tagValues)
		if err != nil {
			comm.WaitAll(v.under...)
			return nil, err
		}
		v.under = append(v.under, q)
	}
	return v, nil
}

// receive puts together and writes this rank's windows; the next one's parcels
// are on their way meanwhile.
func (x *segments) receive(s *site) ([]coo.Span, error) {
	first, end := x.first[x.c.Rank()], x.first[x.c.Rank()+1]
	if first == end {
		return nil, nil
	}
	in, rows, entries := int64(0), int64(0), int64(0) // of a window, at most
	for w := first; w < end; w++ {
		n := int64(0)
		for rank := range x.c.Size() {
			k, _ := x.size(w, rank)
			n += k
		}
		lo, hi := x.span(w)
		in, rows, entries = max(in, n), max(rows, hi-lo), max(entries, x.starts[w+1]-x.starts[w])
	}
	a := &assembly{x: x, s: s}
	sections := x.lay.Sections()
	wide := func(n, width int64) int64 { return (n*width + 15) &^ 15 }
	sizes := []int64{in, in, wide(rows+1, 8), wide(rows+1, 8), wide(entries, int64(sections[x.crd].Width)), wide(entries, int64(sections[x.vals].Width))}
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	mem, err := tcs.Alloc(x.limit, total, "buffers to store the result")
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	rest := mem.Slice()
	var bufs [6][]byte
	for i, n := range sizes {
		bufs[i], rest = rest[:n], rest[n:]
	}
	a.next, a.pos, a.crd, a.vals = words[int64](bufs[2]), bufs[3], bufs[4], bufs[5]
	lo, _ := x.span(first)
	n := x.starts[end] - x.starts[first]
	a.spans[0] = coo.Span{Section: int64(x.pos), From: lo + 1, N: x.ends[end-1] - lo}
	a.spans[1] = coo.Span{Section: int64(x.crd), From: x.starts[first], N: n}
	a.spans[2] = coo.Span{Section: int64(x.vals), From: x.starts[first], N: n}
	if first == 0 {
		a.spans[0].From, a.spans[0].N = 0, a.spans[0].N+1
	}
	next, err := x.ask(first, bufs[0])
	for w := first; err == nil && w < end; w++ {
		v := next
		if next = nil; w+1 < end {
			if next, err = x.ask(w+1, bufs[(w+1-first)%2]); err != nil {
				comm.WaitAll(v.under...)
				break
			}
		}
		if err = comm.WaitAll(v.under...); err == nil {
			err = a.window(w, v)
		}
	}
	if next != nil {
		comm.WaitAll(next.under...)
	}
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
	spans [3]coo.Span
}

// window puts a window together and writes it.
func (a *assembly) window(w int, v *coming) error {
	x := a.x
	parts := a.parts(w, v)
	lo, hi := x.span(w)
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
	entries := x.starts[w+1] - x.starts[w]
	if next[hi-lo] != entries {
		panic(fmt.Sprintf("BUG: store: %d of %d entries in a window", next[hi-lo], entries))
	}
	sections := x.lay.Sections()
	from := lo
	ends := next
	if w > 0 { // 0, which comes before all rows' ends, is written once
		from, ends = lo+1, next[1:]
	}
	pos := a.ends(ends, x.starts[w], sections[x.pos].Width)
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
	if err := a.write(1, sections[x.crd], a.crd[:entries*int64(sections[x.crd].Width)], x.starts[w]); err != nil {
		return err
	}
	return a.write(2, sections[x.vals], a.vals[:entries*size], x.starts[w])
}

// parts are where each block's rows in window w are: those of other ranks' blocks
// in the parcel of all of them, in the order of eachBlock.
func (a *assembly) parts(w int, v *coming) []*parcel {
	x, me := a.x, a.x.c.Rank()
	parts, parcels := make([]*parcel, len(x.t.Owners)), make([]parcel, len(v.mem))
	for rank, mem := range v.mem {
		parcels[rank] = x.parcel(mem, w, rank)
	}
	room := parcels[me]
	for _, k := range x.order {
		owner := x.t.Owners[k]
		parts[k] = &parcels[owner]
		if owner != me {
			continue
		}
		parts[k] = &parcel{}
		if x.t.Own[k] != nil {
			q := x.part(k, w, room)
			parts[k] = &q
			room.drop(len(q.counts), len(q.crd), 0)
		}
	}
	return parts
}

// eachBlock calls yield with the consecutive rows, n from p on, that block k has
// in window w: block by block as they follow in the last mode.
func (x *segments) eachBlock(w int, yield func(k int, p, n int64)) {
	lo, hi := x.span(w)
	for _, k := range x.order {
		x.f.eachRun(x.t.Boxes[k], lo, hi, func(_ []int64, p, n int64) { yield(k, p, n) })
	}
}

// place copies rows to where they go, moves that on, and returns their entries.
func place[T int32 | int64](at []int64, counts []int32, crd, from []T, vals, values []byte, size int64) int64 {
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
func copyRows[T, V int32 | int64](at []int64, counts []int32, crd, from []T, vals, values []V) int64 {
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
func words[T int32 | int64](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
