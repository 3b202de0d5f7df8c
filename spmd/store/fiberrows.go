package store

import (
	"fmt"
	"hash/crc32"
	"math/bits"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// writeFibers writes the file, in two passes over the rows. Collective.
func writeFibers(s *site, x *fibers) error {
	near, err := x.t.nearby(x.c)
	if err != nil {
		return err
	}
	if near != nil {
		defer near.close(x.t)
		x.nearby(near)
	}
	if err := x.count(); err != nil {
		return err
	}
	p := &parcels{c: x.c, limit: x.limit, first: x.rowWindows.first, near: x.near, size: x.size,
		pack: func(mem []byte, w int) { x.pack(x.bundle(mem, w, x.c.Rank()), w) },
	}
	var spans []coo.FileRange
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

// most is the rows of all ranks, and the entries, of one of this rank's windows, at most.
func (x *fibers) most() (rows, entries int64) {
	ranks := x.c.Size()
	for w := x.rowWindows.first[x.c.Rank()]; w < x.rowWindows.first[x.c.Rank()+1]; w++ {
		n := int64(0)
		for _, k := range x.rows[w*ranks : (w+1)*ranks] {
			n += k
		}
		rows, entries = max(rows, n), max(entries, x.rowWindows.starts[w+1]-x.rowWindows.starts[w])
	}
	return rows, entries
}

// count makes the pass over the rows' keys that counts the nodes of each window,
// and lays the file out. Collective.
func (x *fibers) count() error {
	levels, windows := x.row+1-x.dense, len(x.rowWindows.ends)
	// Of each window: its nodes by level, and one more than its first and last key.
	found := make([]int64, windows*(levels+2))
	p := &parcels{c: x.c, limit: x.limit, first: x.rowWindows.first, near: x.near, size: x.listed,
		pack: func(mem []byte, w int) { x.packKeys(x.keysOf(mem, w, x.c.Rank()), w) },
	}
	err := p.exchange(func() error {
		rows, _ := x.most()
		bufs, mem, err := rooms(x.limit,
			[]int64{p.most(), p.most(), (8*rows + 15) &^ 15, (8*rows + 15) &^ 15})
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
						lists = append(lists, q.rowList.keys[:n])
					}
					q.rowList.keys = q.rowList.keys[n:]
				}
			}
			x.nodesOf(found[w*(levels+2):(w+1)*(levels+2)],
				union(lists, words[int64](bufs[2]), words[int64](bufs[3])))
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
		n := int64(0)
		for i := 0; i < len(keys); n++ {
			i += below(keys[i:], (keys[i]/x.f.stride[l]+1)*x.f.stride[l])
		}
		found[l-x.dense] = n
	}
}

// below is how many of the first keys are below end.
func below(keys []int64, end int64) int {
	i := 0
	for i+8 < len(keys) && keys[i+8] < end {
		i += 8
	}
	for i < len(keys) && keys[i] < end {
		i++
	}
	return i
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
	for w := range x.rowWindows.ends {
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
		counts[x.dense+l] = nodes[len(x.rowWindows.ends)]
	}
	counts[x.row+1] = x.rowWindows.starts[len(x.rowWindows.ends)]
	if x.lay, err = tcs.NewFile(x.t.shape(counts)); err != nil {
		return err
	}
	x.pos, x.crd = make([]int, len(counts)), make([]int, len(counts))
	for i, sec := range x.lay.Sections() {
		switch sec.Array {
		case tcs.ValsArray:
			x.vals = i
		case tcs.CrdArray:
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
	pos, crd []*column // by level, of those above the rows; and where rows of a node begin
	count    []int64   // nodes of a level so far, in the whole result
	end      []int64   // of a level's node: the first key after it
	top      int64     // the dense position whose rows come next
	under    int64     // the keys below a dense position

	half   [2]rowList // of a window, where more than two parts are merged
	all    rowList    // a window's rows
	rowCrd []byte     // their coordinates,
	rowPos []byte     // and where they begin
	spans  [4]coo.FileRange
}

// arrays are the sections that are written by whole windows, as fiberRows.spans.
func (x *fibers) arrays() [4]int {
	return [4]int{x.crd[x.row], x.pos[x.row+1], x.crd[x.row+1], x.vals}
}

// receive puts together and writes this rank's windows.
func (x *fibers) receive(s *site, p *parcels) ([]coo.FileRange, error) {
	first, end := x.rowWindows.first[x.c.Rank()], x.rowWindows.first[x.c.Rank()+1]
	if first == end {
		return nil, nil
	}
	rows, entries := x.most()
	sections := x.lay.Sections()
	wide := func(n, width int64) int64 { return (n*width + 15) &^ 15 }
	sizes := []int64{p.most(), p.most()}
	for _, sec := range []int{x.crd[x.row], x.pos[x.row+1]} {
		sizes = append(sizes, wide(rows+1, int64(sections[sec].Width)))
	}
	lists := 1 + x.halves()
	for range lists {
		sizes = append(sizes, wide(rows, 8), wide(rows, 4), wide(entries, x.crdWidth()),
			wide(entries, int64(x.t.Type.Size())))
	}
	for range 2*(x.row-x.dense) + 1 { // columns
		sizes = append(sizes, min(columnMost, max(x.bytes/64, columnLeast))&^15)
	}
	bufs, mem, err := rooms(x.limit, sizes)
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	a := &fiberRows{x: x, s: s, under: x.f.total, count: make([]int64, x.row+1),
		end: make([]int64, x.row+1), rowCrd: bufs[2], rowPos: bufs[3]}
	if x.dense > 0 {
		a.under = x.f.stride[x.dense-1]
	}
	in := [2][]byte{bufs[0], bufs[1]}
	bufs = bufs[4:]
	for _, l := range []*rowList{&a.all, &a.half[0], &a.half[1]}[:lists] {
		*l, bufs = rowList{words[int64](bufs[0]), words[int32](bufs[1]), bufs[2], bufs[3]}, bufs[4:]
	}
	a.begin(first, bufs)
	if err := p.each(in, a.window); err != nil {
		return nil, err
	}
	if end == len(x.rowWindows.ends) { // what ends the last node's segments
		for l := x.dense; l <= x.row; l++ {
			a.pos[l].push(a.count[l])
		}
		if err := a.write(1, a.begins([]int32{0}, x.rowWindows.starts[end])); err != nil {
			return nil, err
		}
	}
	spans := a.spans[:]
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
	lo, _ := x.rowWindows.span(w)
	a.top = (lo + a.under - 1) / a.under
	a.pos, a.crd = make([]*column, x.row+1), make([]*column, x.row)
	sections := x.lay.Sections()
	open := func(section int, from int64) *column {
		c := &column{s: a.s, sec: sections[section], buf: words[int64](bufs[0]),
			span: coo.FileRange{Section: int64(section), From: from}}
		bufs = bufs[1:]
		return c
	}
	for l := x.dense; l <= x.row; l++ {
		a.count[l] = x.nodes[l-x.dense][w]
		if w > 0 && x.last[w-1] >= 0 {
			a.end[l] = (x.last[w-1]/x.f.stride[l] + 1) * x.f.stride[l]
		}
		if l < x.row {
			a.crd[l] = open(x.crd[l], a.count[l])
		}
		if l == x.dense {
			a.pos[l] = open(x.pos[l], a.top)
		} else {
			a.pos[l] = open(x.pos[l], a.count[l-1])
		}
	}
	for i, from := range [4]int64{a.count[x.row], a.count[x.row], x.rowWindows.starts[w],
		x.rowWindows.starts[w]} {
		a.spans[i] = coo.FileRange{Section: int64(x.arrays()[i]), From: from}
	}
}

// window puts a window together and writes it.
func (a *fiberRows) window(w int, in [][]byte) error {
	x, me := a.x, a.x.c.Rank()
	bundles := make([]bundle, len(in))
	for rank, mem := range in {
		bundles[rank] = x.bundle(mem, w, rank)
	}
	x.packKeys(bundles[me], w)
	l := a.merge(x.parts(w, bundles))
	width, size := x.crdWidth(), int64(x.t.Type.Size())
	entries := x.rowWindows.starts[w+1] - x.rowWindows.starts[w]
	if n := len(l.ends); int64(len(l.crd)) != entries*width || int64(len(l.vals)) != entries*size ||
		n > 0 && int64(l.ends[n-1]) != entries {
		panic(
			fmt.Sprintf("BUG: store: %d bytes of coordinates and %d of values in a window of %d entries",
				len(l.crd), len(l.vals), entries))
	}
	crd, err := a.nodes(w, l.keys)
	if err != nil {
		return err
	}
	for i, b := range [4][]byte{crd, a.begins(l.ends, x.rowWindows.starts[w]), l.crd, l.vals} {
		if err := a.write(i, b); err != nil {
			return err
		}
	}
	return nil
}

// halves is how many lists of rows hold a window's while more than two parts are
// merged two by two.
func (x *fibers) halves() int { return min(max(bits.Len(uint(len(x.order)-1))-1, 0), 2) }

// merge is one list of all parts' rows.
func (a *fiberRows) merge(parts []rowList) rowList {
	width, size := a.x.crdWidth(), int64(a.x.t.Type.Size())
	for round := 0; len(parts) > 2; round++ {
		buf := a.half[round%2]
		for i := 0; i+1 < len(parts); i += 2 {
			l := mergeRows(buf, parts[i], parts[i+1], width, size)
			buf.drop(rowList{buf.keys[:len(parts[i].keys)+len(parts[i+1].keys)],
				buf.ends[:len(parts[i].ends)+len(parts[i+1].ends)], l.crd, l.vals})
			parts[i/2] = l
		}
		if n := len(parts); n%2 == 1 {
			parts[n/2] = parts[n-1]
		}
		parts = parts[:(len(parts)+1)/2]
	}
	switch len(parts) {
	case 0:
		return rowList{}
	case 1:
		return parts[0]
	}
	return mergeRows(a.all, parts[0], parts[1], width, size)
}

// begins are where rows with those ends begin, after base entries, in the file's width.
func (a *fiberRows) begins(ends []int32, base int64) []byte {
	if a.x.lay.Sections()[a.spans[1].Section].Width == 4 {
		return beginsIn(words[int32](a.rowPos), ends, base)
	}
	return beginsIn(words[int64](a.rowPos), ends, base)
}

func beginsIn[T int32 | int64](dst []T, ends []int32, base int64) []byte {
	dst = dst[:len(ends)]
	next := T(base)
	for i, end := range ends {
		dst[i], next = next, T(base)+T(end)
	}
	return tcs.Of(dst).Bytes()
}

// parts are the blocks' parts of window w, as the blocks follow in the last mode,
// of those that have rows there.
func (x *fibers) parts(w int, bundles []bundle) []rowList {
	var list []rowList
	me, size, width := x.c.Rank(), int64(x.t.Type.Size()), x.crdWidth()
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
			p = x.part(k, w, q.rowList)
		} else {
			entries := int64(q.rowList.ends[n-1])
			p = rowList{q.rowList.keys[:n], q.rowList.ends[:n], q.rowList.crd[:entries*width],
				q.rowList.vals[:entries*size]}
		}
		q.rowList.drop(p)
		list = append(list, p)
	}
	return list
}

// nodes writes the levels above the rows of a window of those keys, a node where it begins,
// and with it where its segment does. It returns the rows' coordinates in the file's width.
func (a *fiberRows) nodes(w int, keys []int64) (crd []byte, err error) {
	if a.x.lay.Sections()[a.spans[0].Section].Width == 4 {
		crd = nodesIn(a, w, keys, words[int32](a.rowCrd))
	} else {
		crd = nodesIn(a, w, keys, words[int64](a.rowCrd))
	}
	for _, c := range append(a.pos, a.crd...) {
		if c != nil && c.err != nil {
			return nil, c.err
		}
	}
	return crd, nil
}

func nodesIn[T int32 | int64](a *fiberRows, w int, keys []int64, dst []T) []byte {
	x := a.x
	dst = dst[:len(keys)]
	for i := 0; i < len(keys); {
		key := keys[i]
		for a.top*a.under <= key {
			a.pos[x.dense].push(a.count[x.dense])
			a.top++
		}
		l, from, end := x.dense, (a.top-1)*a.under, a.top*a.under // the keys of the node above level l
		for ; l < x.row && key < a.end[l]; l++ {
			from, end = a.end[l]-x.f.stride[l], a.end[l]
		}
		for ; l < x.row; l++ {
			c := (key - from) / x.f.stride[l]
			from += c * x.f.stride[l]
			end = from + x.f.stride[l]
			a.end[l] = end
			a.crd[l].push(c)
			a.pos[l+1].push(a.count[l+1])
			a.count[l]++
		}
		n := below(keys[i:], end)
		here := dst[i : i+n]
		for k, key := range keys[i : i+n] {
			here[k] = T(key - from)
		}
		i += n
		a.count[x.row] += int64(n)
	}
	_, hi := x.rowWindows.span(w)
	for a.top*a.under < hi {
		a.pos[x.dense].push(a.count[x.dense])
		a.top++
	}
	return tcs.Of(dst).Bytes()
}

// write writes bytes behind what a span has of its section.
func (a *fiberRows) write(span int, bytes []byte) error {
	sp := &a.spans[span]
	sec := a.x.lay.Sections()[sp.Section]
	sp.CRC = crc32.Update(sp.CRC, crc32.IEEETable, bytes)
	_, err := a.s.WriteAt(bytes, sec.Offset+(sp.From+sp.N)*int64(sec.Width))
	sp.N += int64(len(bytes)) / int64(sec.Width)
	return err
}
