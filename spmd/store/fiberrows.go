package store

import (
	"fmt"
	"hash/crc32"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// writeFibers writes the file, in two passes over the rows. Collective.
func writeFibers(s *site, x *fibers) error {
	if err := x.count(); err != nil {
		return err
	}
	if err := s.resize(x.lay.Size()); err != nil {
		return err
	}
	p := &parcels{c: x.c, limit: x.limit, first: x.first, size: x.size,
		pack: func(mem []byte, w int) { x.pack(x.bundle(mem, w, x.c.Rank()), w) },
	}
	var spans []coo.Span
	err := p.exchange(func() error {
		return s.write(func() (err error) { spans, err = x.receive(s, p); return err })
	})
	if err != nil {
		return err
	}
	return s.finish(x.lay, spans)
}

// most is the rows of all ranks, and the entries, of one of this rank's windows, at most.
func (x *fibers) most() (rows, entries int64) {
	ranks := x.c.Size()
	for w := x.first[x.c.Rank()]; w < x.first[x.c.Rank()+1]; w++ {
		n := int64(0)
		for _, k := range x.rows[w*ranks : (w+1)*ranks] {
			n += k
		}
		rows, entries = max(rows, n), max(entries, x.starts[w+1]-x.starts[w])
	}
	return rows, entries
}

// count makes the pass over the rows' keys that counts the nodes of each window,
// and lays the file out. Collective.
func (x *fibers) count() error {
	levels, windows := x.row+1-x.dense, len(x.ends)
	// Of each window: its nodes by level, and one more than its first and last key.
	found := make([]int64, windows*(levels+2))
	p := &parcels{c: x.c, limit: x.limit, first: x.first, size: x.listed,
		pack: func(mem []byte, w int) { x.packKeys(x.keysOf(mem, w, x.c.Rank()), w) },
	}
	err := p.exchange(func() error {
		rows, _ := x.most()
		bufs, mem, err := rooms(x.limit, []int64{p.most(), p.most(), (8*rows + 15) &^ 15, (8*rows + 15) &^ 15})
		if err != nil {
			return err
		}
		defer mem.Release()
		return p.each([2][]byte{bufs[0], bufs[1]}, func(w int, in [][]byte) error {
			me := x.c.Rank()
			x.packKeys(x.keysOf(in[me], w, me), w)
			var lists [][]int64
			for rank, mem := range in {
				q := x.keysOf(mem, w, rank)
				for _, n := range q.rows {
					if n > 0 {
						lists = append(lists, q.keys[:n])
					}
					q.keys = q.keys[n:]
				}
			}
			x.nodesOf(found[w*(levels+2):(w+1)*(levels+2)], union(lists, words[int64](bufs[2]), words[int64](bufs[3])))
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := x.c.Allreduce(comm.Of(found), comm.Sum); err != nil {
		return err
	}
	x.scan(found)
	return x.layOut()
}

// nodesOf counts a window's nodes by level, and notes its first and last key.
func (x *fibers) nodesOf(found []int64, keys []int64) {
	if len(keys) == 0 {
		return
	}
	levels := len(found) - 2
	found[levels-1], found[levels], found[levels+1] = int64(len(keys)), keys[0]+1, keys[len(keys)-1]+1
	for l := x.dense; l < x.row; l++ {
		end, n := int64(0), int64(0)
		for _, k := range keys {
			if k >= end {
				end = (k/x.f.stride[l] + 1) * x.f.stride[l]
				n++
			}
		}
		found[l-x.dense] = n
	}
}

// scan turns what was found of each window into the nodes before it. A node that
// goes on from the window before is that one's.
func (x *fibers) scan(found []int64) {
	levels := x.row + 1 - x.dense
	x.nodes = make([][]int64, levels)
	for l := range x.nodes {
		x.nodes[l] = []int64{0}
	}
	last := int64(-1)
	for w := range x.ends {
		here := found[w*(levels+2) : (w+1)*(levels+2)]
		first := here[levels] - 1
		for l := range levels {
			n := here[l]
			if stride := x.f.stride[x.dense+l]; n > 0 && last >= 0 && last/stride == first/stride {
				n--
			}
			x.nodes[l] = append(x.nodes[l], x.nodes[l][w]+n)
		}
		if first >= 0 {
			last = here[levels+1] - 1
		}
		x.last = append(x.last, last)
	}
}

// layOut lays the file out.
func (x *fibers) layOut() (err error) {
	counts := make([]int64, x.row+2)
	n := int64(1)
	for l := range x.dense {
		n *= x.f.dims[l]
		counts[l] = n
	}
	for l, nodes := range x.nodes {
		counts[x.dense+l] = nodes[len(x.ends)]
	}
	counts[x.row+1] = x.starts[len(x.ends)]
	if x.lay, err = tcs.NewFile(x.t.shape(counts)); err != nil {
		return err
	}
	x.pos, x.crd = make([]int, len(counts)), make([]int, len(counts))
	for i, sec := range x.lay.Sections() {
		switch sec.Part {
		case tcs.ValsPart:
			x.vals = i
		case tcs.CrdPart:
			x.crd[sec.Level] = i
		default:
			x.pos[sec.Level] = i
		}
	}
	return nil
}

// fiberRows is where a rank's windows of fibers are put together.
type fiberRows struct {
	x        *fibers
	s        *site
	pos, crd []*column // by level; crd of the levels above the last one
	count    []int64   // nodes of a level so far, in the whole result
	end      []int64   // of a level's node: the first key after it
	top      int64     // the dense position whose rows come next
	under    int64     // the keys below a dense position

	places    []int32 // of each row of a window among the keys
	a, b      []int64 // keys
	next      []int64 // where a row's next entry goes, in the window
	last      []byte  // coordinates
	vals      []byte
	lastSpan  coo.Span
	valueSpan coo.Span
}

// receive puts together and writes this rank's windows.
func (x *fibers) receive(s *site, p *parcels) ([]coo.Span, error) {
	first, end := x.first[x.c.Rank()], x.first[x.c.Rank()+1]
	if first == end {
		return nil, nil
	}
	rows, entries := x.most()
	wide := func(n, width int64) int64 { return (n*width + 15) &^ 15 }
	sizes := []int64{p.most(), p.most(), wide(rows, 8), wide(rows, 8), wide(rows+1, 8), wide(rows, 4), wide(entries, x.crdWidth()), wide(entries, int64(x.t.Type.Size()))}
	for range 2 * (x.row + 2 - x.dense) { // columns
		sizes = append(sizes, min(columnMost, max(x.room/64, columnLeast))&^15)
	}
	bufs, mem, err := rooms(x.limit, sizes)
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	a := &fiberRows{x: x, s: s, under: x.f.total, count: make([]int64, x.row+1), end: make([]int64, x.row+1),
		a: words[int64](bufs[2]), b: words[int64](bufs[3]), next: words[int64](bufs[4]), places: words[int32](bufs[5]), last: bufs[6], vals: bufs[7]}
	if x.dense > 0 {
		a.under = x.f.stride[x.dense-1]
	}
	n := x.starts[end] - x.starts[first]
	a.lastSpan = coo.Span{Section: int64(x.crd[x.row+1]), From: x.starts[first], N: n}
	a.valueSpan = coo.Span{Section: int64(x.vals), From: x.starts[first], N: n}
	a.begin(first, bufs[8:])
	if err := p.each([2][]byte{bufs[0], bufs[1]}, a.window); err != nil {
		return nil, err
	}
	if end == len(x.ends) { // what ends the last node's segments
		for l := x.dense; l <= x.row; l++ {
			a.pos[l].push(a.count[l])
		}
		a.pos[x.row+1].push(x.starts[end])
	}
	spans := []coo.Span{a.lastSpan, a.valueSpan}
	for _, c := range append(a.pos, a.crd...) {
		if c != nil {
			if err := c.flush(); err != nil {
				return nil, err
			}
			spans = append(spans, c.span)
		}
	}
	return spans, nil
}

// begin sets the state to that before window w.
func (a *fiberRows) begin(w int, bufs [][]byte) {
	x := a.x
	lo, _ := x.span(w)
	a.top = (lo + a.under - 1) / a.under
	a.pos, a.crd = make([]*column, x.row+2), make([]*column, x.row+1)
	sections := x.lay.Sections()
	open := func(section int, from int64) *column {
		c := &column{s: a.s, sec: sections[section], buf: words[int64](bufs[0]), span: coo.Span{Section: int64(section), From: from}}
		bufs = bufs[1:]
		return c
	}
	for l := x.dense; l <= x.row; l++ {
		a.count[l] = x.nodes[l-x.dense][w]
		if w > 0 && x.last[w-1] >= 0 {
			a.end[l] = (x.last[w-1]/x.f.stride[l] + 1) * x.f.stride[l]
		}
		a.crd[l] = open(x.crd[l], a.count[l])
		if l == x.dense {
			a.pos[l] = open(x.pos[l], a.top)
		} else {
			a.pos[l] = open(x.pos[l], a.count[l-1])
		}
	}
	a.pos[x.row+1] = open(x.pos[x.row+1], a.count[x.row])
}

// window puts a window together and writes it.
func (a *fiberRows) window(w int, in [][]byte) error {
	x, me := a.x, a.x.c.Rank()
	bundles := make([]bundle, len(in))
	for rank, mem := range in {
		bundles[rank] = x.bundle(mem, w, rank)
	}
	x.packKeys(bundles[me], w)
	parts := x.parts(w, bundles)
	var lists [][]int64
	for _, p := range parts {
		lists = append(lists, p.keys)
	}
	keys := union(lists, a.a, a.b)
	next := a.next[:len(keys)+1]
	clear(next)
	places := a.places
	for i := range parts {
		p := &parts[i]
		p.places, places = places[:len(p.keys)], places[len(p.keys):]
		placesOf(p.places, p.keys, keys)
		for i, at := range p.places {
			next[at+1] += int64(p.counts[i])
		}
	}
	for i := range keys {
		next[i+1] += next[i]
	}
	entries := x.starts[w+1] - x.starts[w]
	if next[len(keys)] != entries {
		panic(fmt.Sprintf("BUG: store: %d of %d entries in a window", next[len(keys)], entries))
	}
	if err := a.nodes(w, keys, next); err != nil {
		return err
	}
	size, width := int64(x.t.Type.Size()), x.crdWidth()
	for i := range parts {
		p := &parts[i]
		if width == 4 {
			placeAt(p, next, words[int32](a.last), words[int32](p.crd), a.vals, size)
		} else {
			placeAt(p, next, words[int64](a.last), words[int64](p.crd), a.vals, size)
		}
	}
	if err := a.write(&a.lastSpan, a.last[:entries*width], x.starts[w]); err != nil {
		return err
	}
	return a.write(&a.valueSpan, a.vals[:entries*size], x.starts[w])
}

// placed is a block's part of a window.
type placed struct {
	bundle
	places []int32
}

// parts are the blocks' parts of window w, as the blocks follow in the last mode,
// of those that have rows there.
func (x *fibers) parts(w int, bundles []bundle) []placed {
	var list []placed
	me, size, width := x.c.Rank(), int64(x.t.Type.Size()), x.crdWidth()
	for _, k := range x.order {
		q := &bundles[x.t.Owners[k]]
		if len(q.rows) == 0 {
			continue
		}
		n := q.rows[0]
		p := placed{bundle: bundle{keys: q.keys[:n]}}
		if x.t.Owners[k] == me {
			if n > 0 {
				own := x.part(k, w, *q)
				p.counts, p.crd, p.vals = own.counts, own.crd, own.vals
			}
		} else {
			p.counts = q.counts[:n]
			entries := int64(0)
			for _, c := range p.counts {
				entries += int64(c)
			}
			p.crd, p.vals = q.crd[:entries*width], q.vals[:entries*size]
			q.vals = q.vals[len(p.vals):]
		}
		q.rows, q.keys, q.counts, q.crd = q.rows[1:], q.keys[n:], q.counts[n:], q.crd[len(p.crd):]
		if n > 0 {
			list = append(list, p)
		}
	}
	return list
}

// nodes writes the levels above the last one, and where rows begin, of a window of
// those keys: a node where it begins, and with it where its segment does.
func (a *fiberRows) nodes(w int, keys, next []int64) error {
	x := a.x
	for i, key := range keys {
		for a.top*a.under <= key {
			a.pos[x.dense].push(a.count[x.dense])
			a.top++
		}
		l, from := x.dense, (a.top-1)*a.under // the first key of the node above level l
		for ; l < x.row && key < a.end[l]; l++ {
			from = a.end[l] - x.f.stride[l]
		}
		for ; l < x.row; l++ {
			c := (key - from) / x.f.stride[l]
			from += c * x.f.stride[l]
			a.end[l] = from + x.f.stride[l]
			a.crd[l].push(c)
			a.pos[l+1].push(a.count[l+1])
			a.count[l]++
		}
		a.crd[x.row].push(key - from)
		a.pos[x.row+1].push(x.starts[w] + next[i])
		a.count[x.row]++
	}
	_, hi := x.span(w)
	for a.top*a.under < hi {
		a.pos[x.dense].push(a.count[x.dense])
		a.top++
	}
	for _, c := range append(a.pos, a.crd...) {
		if c != nil && c.err != nil {
			return c.err
		}
	}
	return nil
}

// placeAt copies a part's rows to where they go, and moves that on.
func placeAt[T int32 | int64](p *placed, next []int64, crd, from []T, vals []byte, size int64) {
	switch size {
	case 8:
		scatterRows(p, next, crd, from, words[int64](vals), words[int64](p.vals))
	case 4:
		scatterRows(p, next, crd, from, words[int32](vals), words[int32](p.vals))
	default:
		k := int64(0)
		for i, row := range p.places {
			at, n := next[row], int64(p.counts[i])
			copy(crd[at:at+n], from[k:k+n])
			copy(vals[at*size:(at+n)*size], p.vals[k*size:(k+n)*size])
			next[row], k = at+n, k+n
		}
	}
}

// scatterRows is placeAt for values of one word.
func scatterRows[T, V int32 | int64](p *placed, next []int64, crd, from []T, vals, values []V) {
	k := int64(0)
	for i, row := range p.places {
		at, n := next[row], int64(p.counts[i])
		if n > 16 {
			copy(crd[at:at+n], from[k:k+n])
			copy(vals[at:at+n], values[k:k+n])
		} else {
			d, s, e, u := crd[at:at+n], from[k:k+n], vals[at:at+n], values[k:k+n]
			for j := range d {
				d[j], e[j] = s[j], u[j]
			}
		}
		next[row], k = at+n, k+n
	}
}

// write writes bytes at element `from` of a span's section.
func (a *fiberRows) write(span *coo.Span, bytes []byte, from int64) error {
	sec := a.x.lay.Sections()[span.Section]
	span.CRC = crc32.Update(span.CRC, crc32.IEEETable, bytes)
	_, err := a.s.WriteAt(bytes, sec.Offset+from*int64(sec.Width))
	return err
}
