package store

import (
	"fmt"
	"hash/crc32"
	"math/bits"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// rowFile assembles the windows of a rank and writes them to the file. If rows are listed, it also
// writes the levels above the rows. It appends numbers to each array of these levels through a
// buffer, which is called a column.
type rowFile struct {
	x *rows
	s *sharedFile
	// by level, for the levels above the rows; pos also for the level of the rows
	pos, crd []*column
	count    []int64 // number of nodes so far in the whole result, by level
	end      []int64 // by level, the first key after the last node
	top      int64   // the dense position whose rows come next
	under    int64   // number of keys below one dense position

	half   [2]rowList // used while more than two parts of a window are merged
	all    rowList    // the rows of a window
	rowCrd []byte     // coordinates of the rows, if they are listed
	rowPos []byte     // starts of the rows
	spans  []coo.FileRange
}

// Indices of rowFile.spans. Each span belongs to a section of the file to which the rank writes one
// whole window after another.
const (
	spanPos = iota // starts of the rows
	spanCrd        // coordinates of the last level
	spanVals
	spanRows // coordinates of listed rows
)

// sections returns the numbers of the sections that are written by whole windows.
func (x *rows) sections() []int {
	list := []int{x.pos[x.row+1], x.crd[x.row+1], x.vals}
	if x.isListed() {
		list = append(list, x.crd[x.row])
	}
	return list
}

// width returns the width in bytes of a section's elements.
func (x *rows) width(section int) int64 { return int64(x.lay.Sections()[section].Width) }

// largestCounts returns the largest number of rows and the largest number of entries in a window of
// this rank. The two numbers may come from different windows. If rows are listed (see isListed), a
// row counts once for each block that has entries of the row.
func (x *rows) largestCounts() (rows, entries int64) {
	ranks := x.c.Size()
	for w := x.first[x.c.Rank()]; w < x.first[x.c.Rank()+1]; w++ {
		lo, hi := x.span(w)
		n := hi - lo
		if x.isListed() {
			n = 0
			for _, k := range x.rows[w*ranks : (w+1)*ranks] {
				n += k
			}
		}
		rows, entries = max(rows, n), max(entries, x.starts[w+1]-x.starts[w])
	}
	return rows, entries
}

// receive assembles and writes this rank's windows.
func (x *rows) receive(s *sharedFile, p *parcels) ([]coo.FileRange, error) {
	first, end := x.first[x.c.Rank()], x.first[x.c.Rank()+1]
	if first == end {
		return nil, nil
	}
	a := &rowFile{x: x, s: s}
	in, mem, err := a.allocate(first, p)
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	if err := p.eachWindow(in, a.window); err != nil {
		return nil, err
	}
	if end == len(x.ends) { // the end of the last node's segments
		for l := x.dense; l <= x.row; l++ {
			a.pos[l].push(a.count[l])
		}
		if err := a.write(spanPos, a.begins([]int32{0}, x.starts[end])); err != nil {
			return nil, err
		}
	}
	spans := a.spans
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

// allocate allocates the memory that all windows of this rank share, and prepares the rowFile for
// its first window w. received holds two buffers for received messages. mem is the memory of all
// buffers. The caller must release mem.
func (a *rowFile) allocate(w int, p *parcels) (received [2][]byte, mem *tcs.Memory, err error) {
	x := a.x
	rows, entries := x.largestCounts()
	wide := func(n, width int64) int64 { return (n*width + 15) &^ 15 }
	sizes := []int64{p.largestWindow(), p.largestWindow(), wide(rows+1, x.width(x.pos[x.row+1]))}
	if x.isListed() {
		sizes = append(sizes, wide(rows, x.width(x.crd[x.row])))
	}
	lists := 1 + x.halves()
	for range lists {
		size := int64(x.t.Layout.Type.Size())
		sizes = append(sizes, wide(rows, 4), wide(entries, x.crdWidth()), wide(entries, size))
		if x.isListed() {
			sizes = append(sizes, wide(rows, 8))
		}
	}
	sizes = append(sizes, x.columns(w, x.first[x.c.Rank()+1])...)
	bufs, mem, err := rooms(x.limit, sizes)
	if err != nil {
		return received, nil, err
	}
	next := func() (b []byte) { b, bufs = bufs[0], bufs[1:]; return b }
	received = [2][]byte{next(), next()}
	if a.rowPos = next(); x.isListed() {
		a.rowCrd = next()
	}
	for _, l := range []*rowList{&a.all, &a.half[0], &a.half[1]}[:lists] {
		if *l = (rowList{ends: words[int32](next()), crd: next(), vals: next()}); x.isListed() {
			l.keys = words[int64](next())
		}
	}
	a.begin(w, next)
	return received, mem, nil
}

// columns returns the sizes in bytes of the buffers of all columns, for a rank with the windows [w,
// end). The sizes are ordered by level. For each level, the size for crd comes first, and then the
// size for pos. The level of the rows has no column for crd. The function begin takes the buffers
// in the same order. columns returns nil if rows are not listed.
func (x *rows) columns(w, end int) (sizes []int64) {
	if !x.isListed() {
		return nil
	}
	parents := x.denseBefore(end) - x.denseBefore(w)
	for l := x.dense; l <= x.row; l++ {
		nodes := x.nodes[l-x.dense][end] - x.nodes[l-x.dense][w]
		if l < x.row {
			sizes = append(sizes, columnBytes(x.bytes, nodes))
		}
		sizes = append(sizes, columnBytes(x.bytes, parents))
		parents = nodes
	}
	return sizes
}

// underDense returns the number of keys under one position of the innermost dense level, or the
// number of all keys if no level is dense.
func (x *rows) underDense() int64 {
	if x.dense > 0 {
		return x.f.stride[x.dense-1]
	}
	return x.f.total
}

// denseBefore returns the number of positions of the innermost dense level whose first key is
// before window w. Each position has underDense keys. If there is no dense level, one position has
// all keys.
func (x *rows) denseBefore(w int) int64 {
	if w == 0 {
		return 0
	}
	return (x.ends[w-1] + x.underDense() - 1) / x.underDense()
}

// begin prepares the rowFile for its first window w. It computes the number of nodes of each level
// before w, and opens the columns. It calls next once for each column, to get a buffer for the
// column.
func (a *rowFile) begin(w int, next func() []byte) {
	x := a.x
	lo, _ := x.span(w)
	row := lo // rows before the window
	a.pos, a.crd = make([]*column, x.row+1), make([]*column, x.row+1)
	a.count, a.end = make([]int64, x.row+1), make([]int64, x.row+1)
	sections := x.lay.Sections()
	open := func(section int, from int64) *column {
		return &column{s: a.s, sec: sections[section], buf: words[int64](next()),
			span: coo.FileRange{Section: int64(section), From: from}}
	}
	if x.isListed() {
		a.under, a.top = x.underDense(), x.denseBefore(w)
		row = x.nodes[x.row-x.dense][w]
	}
	parents := a.top // nodes of the level above l
	for l := x.dense; l <= x.row; l++ {
		a.count[l] = x.nodes[l-x.dense][w]
		if w > 0 && x.last[w-1] >= 0 {
			a.end[l] = (x.last[w-1]/x.f.stride[l] + 1) * x.f.stride[l]
		}
		if l < x.row {
			a.crd[l] = open(x.crd[l], a.count[l])
		}
		a.pos[l] = open(x.pos[l], parents)
		parents = a.count[l]
	}
	for i, section := range x.sections() {
		from := x.starts[w]
		if i == spanPos || i == spanRows {
			from = row
		}
		a.spans = append(a.spans, coo.FileRange{Section: int64(section), From: from})
	}
}

// window assembles window w from the messages of all ranks and writes it to the file. messages[r]
// is the message of rank r.
func (a *rowFile) window(w int, messages [][]byte) (err error) {
	x, me := a.x, a.x.c.Rank()
	bundles := make([]bundle, len(messages))
	for rank, mem := range messages {
		bundles[rank] = x.bundle(mem, w, rank)
	}
	x.packHeading(bundles[me], w)
	parts := x.parts(w, bundles)
	var l rowList
	var crd []byte
	if x.isListed() {
		l = a.merge(parts)
		if crd, err = a.nodes(w, l.keys); err != nil {
			return err
		}
	} else {
		l = a.place(w, parts)
	}
	width, size := x.crdWidth(), int64(x.t.Layout.Type.Size())
	entries := x.starts[w+1] - x.starts[w]
	if n := len(l.ends); int64(len(l.crd)) != entries*width || int64(len(l.vals)) != entries*size ||
		n > 0 && int64(l.ends[n-1]) != entries {
		panic(fmt.Sprintf("BUG: store: %d bytes of coordinates, %d of values in a window of %d entries",
			len(l.crd), len(l.vals), entries))
	}
	for i, b := range [][]byte{a.begins(l.ends, x.starts[w]), l.crd, l.vals, crd}[:len(a.spans)] {
		if err := a.write(i, b); err != nil {
			return err
		}
	}
	return nil
}

// halves returns the number of lists in rowFile.half that a rank needs. Each list holds temporary
// results while the rank merges the parts of a window in pairs. halves returns 0 if rows are not
// listed.
func (x *rows) halves() int {
	if !x.isListed() {
		return 0
	}
	return min(max(bits.Len(uint(len(x.order)-1))-1, 0), 2)
}

// merge merges the listed rows of all parts into one list.
func (a *rowFile) merge(parts []part) rowList {
	width, size := a.x.crdWidth(), int64(a.x.t.Layout.Type.Size())
	for round := 0; len(parts) > 2; round++ {
		buf := a.half[round%2]
		for i := 0; i+1 < len(parts); i += 2 {
			p, q := parts[i].list, parts[i+1].list
			l := mergeRows(buf, p, q, width, size)
			n := len(p.keys) + len(q.keys) // rows that both lists have leave room
			buf.drop(rowList{buf.keys[:n], buf.ends[:n], l.crd, l.vals})
			parts[i/2].list = l
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
		return parts[0].list
	}
	return mergeRows(a.all, parts[0].list, parts[1].list, width, size)
}

// place merges the rows of all parts into one list for window w. It is used if rows are not listed.
// Every key of the window then has a row, which may be empty. place first counts the entries of
// each row, which gives the starts of the rows. It then copies the parts one after another.
func (a *rowFile) place(w int, parts []part) rowList {
	x, all := a.x, a.all
	lo, hi := x.span(w)
	all.ends = all.ends[:hi-lo]
	clear(all.ends)
	for _, p := range parts {
		ends, last := p.list.ends, int32(0)
		x.f.eachRun(x.t.Boxes[p.block], lo, hi, func(_ []int64, key, n int64) {
			counts := all.ends[key-lo : key-lo+n]
			for i, end := range ends[:n] {
				counts[i] += end - last
				last = end
			}
			ends = ends[n:]
		})
	}
	sum := int32(0)
	for i, n := range all.ends {
		all.ends[i], sum = sum, sum+n
	}
	width, size := x.crdWidth(), int64(x.t.Layout.Type.Size())
	for _, p := range parts {
		ends, from := p.list.ends, int32(0)
		x.f.eachRun(x.t.Boxes[p.block], lo, hi, func(_ []int64, key, n int64) {
			if at := all.ends[key-lo : key-lo+n]; width == 4 {
				from = place[int32](at, ends[:n], from, all, p.list, size)
			} else {
				from = place[int64](at, ends[:n], from, all, p.list, size)
			}
			ends = ends[n:]
		})
	}
	all.crd, all.vals = all.crd[:int64(sum)*width], all.vals[:int64(sum)*size]
	return all
}

// begins returns the start of each row, as bytes. Each start is an integer with the width that the
// file uses for starts. ends holds the ends of the rows, counted from the start of the first row.
// base is the number of entries before the first row.
func (a *rowFile) begins(ends []int32, base int64) []byte {
	if a.x.width(int(a.spans[spanPos].Section)) == 4 {
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

// nodes writes the nodes of window w in the levels above the rows, and the starts of the nodes'
// segments. keys holds the keys of the window's rows. If a node has rows in several windows, nodes
// writes the node and the start of its segment for the first of these windows. nodes returns the
// coordinates of the rows as bytes, in the width that coordinates have in the file.
func (a *rowFile) nodes(w int, keys []int64) (crd []byte, err error) {
	if a.x.width(int(a.spans[spanRows].Section)) == 4 {
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

func nodesIn[T int32 | int64](a *rowFile, w int, keys []int64, dst []T) []byte {
	x := a.x
	dst = dst[:len(keys)]
	for i := 0; i < len(keys); {
		key := keys[i]
		for a.top*a.under <= key {
			a.pos[x.dense].push(a.count[x.dense])
			a.top++
		}
		// the keys of the node above level l
		l, from, end := x.dense, (a.top-1)*a.under, a.top*a.under
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
	_, hi := x.span(w)
	for a.top*a.under < hi {
		a.pos[x.dense].push(a.count[x.dense])
		a.top++
	}
	return tcs.Of(dst).Bytes()
}

// write appends bytes to a span.
func (a *rowFile) write(span int, bytes []byte) error {
	sp := &a.spans[span]
	sec := a.x.lay.Sections()[sp.Section]
	sp.CRC = crc32.Update(sp.CRC, crc32.IEEETable, bytes)
	_, err := a.s.WriteAt(bytes, sec.Offset+(sp.From+sp.N)*int64(sec.Width))
	sp.N += int64(len(bytes)) / int64(sec.Width)
	return err
}
