package exec

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/transfer"
)

// Rows are the rows of a gathered operand that a rank reads: coordinates in the mode of its
// outermost level, in ascending order.
type Rows struct {
	List []int64
	All  bool
	// Within is a range that contains all these rows. Unless ranks share an array, only the rows in
	// this range are stored in memory. Leaves access no other rows. If All is true, it is the range
	// of all rows.
	Within [2]int64
	// Spans has, for each step of the rank, a range that contains the rows that the step reads. The
	// step waits for these rows only. nil means that each step may read all rows.
	Spans [][2]int64
}

// gather holds the rows that this rank reads of a gathered operand (plan.Operand.Gathered). The
// operand's levels are dense, its rows are distributed over the ranks, and each rank reads some of
// them. The ranks exchange requests for rows once, and send the same rows in every run.
type gather struct {
	r       *Rank
	operand int
	// the tensor that leaves read: a range of rows. Rows of other ranks that this rank does not
	// read are 0, unless other ranks share the array
	read   *tcs.Tensor
	row    int64    // bytes of a row
	home   bool     // this rank's own rows are stored in read, and its blocks are views of read
	common *common  // how ranks of a node share an array; nil if no node does
	asked  []parcel // rows of this rank that other ranks read, by rank
	asks   []parcel // rows of other ranks that this rank reads
	// the messages to send and to receive: the same as asked and asks, unless ranks share an array
	// (see route)
	to, from []parcel
	spans    [][2]int64 // Rows.Spans
	leaving  []*comm.Request
	relaying sync.WaitGroup // goroutines that receive rows on behalf of the node
	memory   []*tcs.Memory
}

// parcel is a message with rows from one rank to another.
type parcel struct {
	rank  int
	parts []rows
	// buffer for the packed rows; empty if the rows are contiguous, and then are not copied
	packed comm.Buf
	coming *comm.Request // the running receive; nil if there is none
	// inPlace says that sender and receiver share the array with the rows. The message is then
	// empty, and tells the receiver that the rows are written. again says that they are written
	// again in the next run.
	inPlace, again bool
	// for rows that this rank receives on behalf of its node: delivers the error of the receive, or
	// nil
	came chan error
}

// isContiguous reports whether the rows are contiguous in memory at both the sender and the
// receiver.
func (p *parcel) isContiguous() bool { return len(p.parts) == 1 && p.parts[0].list == nil }

// rows are rows of one piece: all rows of [lo, hi), or only the rows in list if it is not nil.
type rows struct {
	piece  partition.Piece
	lo, hi int64
	list   []int64
}

// listed returns the rows whose coordinates are in list. The coordinates must be in ascending
// order, and must all be in piece b.
func listed(b partition.Piece, list []int64) rows {
	x := rows{piece: b, list: list}
	if n := int64(len(list)); n > 0 {
		x.lo, x.hi = list[0], list[n-1]+1
		if x.hi-x.lo == n {
			x.list = nil
		}
	}
	return x
}

func (x *rows) count() int64 {
	if x.list != nil {
		return int64(len(x.list))
	}
	return x.hi - x.lo
}

// newGather prepares the gathering of an operand's rows. It requests the needed rows from the ranks
// that own them, and sets up the messages that every run of the statement uses again. Every rank
// must call it.
func (r *Rank) newGather(operand int, needed Rows) (*gather, error) {
	g := &gather{r: r, operand: operand, spans: needed.Spans}
	like := r.Like[operand]
	g.row = int64(like.Layout.Type.Size())
	for _, m := range like.Layout.Format.Order[1:] {
		g.row *= like.Layout.Dims[m]
	}
	if err := g.settle(needed); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// settle provides the array for the needed rows, and determines which messages every run sends and
// receives. Every rank must call it.
func (g *gather) settle(needed Rows) error {
	if err := g.share(needed); err != nil {
		return err
	}
	if g.read == nil {
		if err := g.allocateOwn(needed.Within); err != nil {
			return err
		}
	}
	g.asks = g.wanted(needed)
	if err := g.ask(); err != nil {
		return err
	}
	if g.r.Moves {
		if err := g.moveIn(); err != nil {
			return err
		}
	}
	g.route()
	for _, list := range [][]parcel{g.from, g.to} {
		for k := range list {
			if err := g.reserve(&list[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// allocateOwn allocates g.read for this rank alone: no other rank shares the array. The array has
// memory for the rows in the range within, and its values are 0.
func (g *gather) allocateOwn(within [2]int64) (err error) {
	like := g.r.Like[g.operand]
	box := make([][2]int64, len(like.Layout.Dims))
	for m, n := range like.Layout.Dims {
		box[m] = [2]int64{0, n}
	}
	box[like.Layout.Format.Order[0]] = within
	shape := &tcs.Shape{Header: tcs.Header{Dims: like.Layout.Dims, Box: box, Type: like.Layout.Type},
		Format: like.Layout.Format, Counts: make([]int64, len(like.Layout.Format.Levels))}
	if g.read, err = tcs.NewIn(shape, like.Name, g.r.Alloc); err == nil {
		clear(g.read.Vals.Bytes())
	}
	return err
}

// moveIn moves this rank's own rows into g.read, so that runs need not copy the rows. The rank's
// blocks become views of g.read. If g.read has no memory for some own row, moveIn does nothing.
func (g *gather) moveIn() error {
	own, within, mode := g.r.Own[g.operand], g.inMemory(), g.read.Levels[0].Mode
	for _, t := range own {
		if r := t.Header.Range(mode); r[0] < within[0] || r[1] > within[1] {
			return nil
		}
	}
	for b, t := range own {
		rows, box := t.Header.Range(mode), make([][2]int64, len(t.Header.Dims))
		for m := range box {
			box[m] = t.Header.Range(m)
		}
		v, err := g.read.View(tcs.Block{Box: box})
		if err != nil {
			return err
		}
		copy(g.place(rows[0], rows[1]), g.own(t, rows[0], rows[1]))
		v.Trust()
		t.Close()
		own[b] = v
	}
	g.home = true
	return nil
}

// wanted returns the rows that this rank reads and other ranks own, in a parcel for each owner.
func (g *gather) wanted(needed Rows) []parcel {
	part := g.r.Plan.Operands[g.operand].Gathered
	byRank := map[int]*parcel{}
	var ranks []int
	left := needed.List
	if left == nil {
		left = []int64{} // nil is all of a piece
	}
	cuts := part.Axes[0].Cuts
	for b := range partition.Piece(part.Pieces()) {
		x := rows{piece: b, lo: cuts[b], hi: cuts[b+1]}
		if !needed.All {
			n, _ := slices.BinarySearch(left, x.hi)
			x, left = listed(b, left[:n:n]), left[n:]
		}
		owner := part.OwnerOf(b)
		if owner == g.r.Comm.Rank() || x.count() == 0 {
			continue
		}
		if byRank[owner] == nil {
			byRank[owner] = &parcel{rank: owner}
			ranks = append(ranks, owner)
		}
		byRank[owner].parts = append(byRank[owner].parts, x)
	}
	slices.Sort(ranks)
	var out []parcel
	for _, rank := range ranks {
		out = append(out, *byRank[rank])
	}
	return out
}

// ask tells the owners which rows this rank reads. It stores in g.asked the rows that other ranks
// read from this rank. A request has one record for each piece: the number of the piece, the first
// row that is read, the row after the last one that is read, the length of the list of rows, and
// the list.
func (g *gather) ask() error {
	c := g.r.Comm.Uncounted()
	counts, asked := make([]int64, c.Size()), make([]int64, c.Size())
	var send []int64
	for _, p := range g.asks {
		before := len(send)
		for _, x := range p.parts {
			send = append(append(send, int64(x.piece), x.lo, x.hi, int64(len(x.list))), x.list...)
		}
		counts[p.rank] = int64(len(send) - before)
	}
	if err := c.Alltoall(comm.Of(counts), comm.Of(asked)); err != nil {
		return err
	}
	total := int64(0)
	for _, n := range asked {
		total += n
	}
	got := make([]int64, total)
	if err := c.Alltoallv(comm.Of(send), counts, comm.Of(got), asked); err != nil {
		return err
	}
	for rank, n := range asked {
		list := got[:n]
		got = got[n:]
		p := parcel{rank: rank}
		for len(list) > 0 {
			x := rows{piece: partition.Piece(list[0]), lo: list[1], hi: list[2]}
			n := list[3]
			if list = list[4:]; n > 0 {
				x.list, list = list[:n:n], list[n:]
			}
			p.parts = append(p.parts, x)
		}
		if len(p.parts) > 0 {
			g.asked = append(g.asked, p)
		}
	}
	return nil
}

// reserve allocates the buffer of a parcel whose rows must be packed before they are sent.
func (g *gather) reserve(p *parcel) error {
	if p.inPlace || p.isContiguous() {
		return nil
	}
	bytes := g.bytes(p)
	mem, err := g.r.Alloc(bytes, "rows of "+g.r.Like[g.operand].Name+" that are gathered")
	if err != nil {
		return err
	}
	g.memory = append(g.memory, mem)
	p.packed = comm.Mem(mem.Array(0, bytes, 1).Ptr, bytes, tensor.Byte)
	return nil
}

// bytes returns the size of a parcel's rows.
func (g *gather) bytes(p *parcel) (n int64) {
	for _, x := range p.parts {
		n += x.count() * g.row
	}
	return n
}

// start begins the gathering of a run: it starts to receive the rows that this rank reads, and
// sends the rows that other ranks read.
func (g *gather) start() (err error) {
	c := g.r.Comm
	if g.isShared(c.Rank()) {
		c = c.Uncounted()
	}
	for k := 0; k < len(g.from) && err == nil; k++ {
		p := &g.from[k]
		p.coming, err = c.Irecv(g.arriving(p), p.rank, tagOf(g.operand))
	}
	if err == nil {
		err = g.send(false)
	}
	if err == nil {
		g.bringOwn()
		err = g.send(true)
	}
	if err == nil {
		g.count()
		g.relay()
	}
	g.read.Trust()
	return err
}

// send sends one of the two kinds of messages to other ranks. If inPlace is false, these are the
// messages that contain rows. If inPlace is true, these are empty messages, which tell ranks of
// this node that rows were written to the shared array.
func (g *gather) send(inPlace bool) error {
	for k := range g.to {
		p, c := &g.to[k], g.r.Comm
		if p.inPlace != inPlace {
			continue
		}
		if g.isShared(p.rank) {
			c = c.Uncounted()
		}
		r, err := c.Isend(g.message(p), p.rank, tagOf(g.operand))
		if err != nil {
			return err
		}
		g.leaving = append(g.leaving, r)
	}
	return nil
}

// bringOwn copies this rank's own rows to g.read, if g.read has memory for them. It does nothing if
// g.home is set: the rows are then stored in g.read already.
func (g *gather) bringOwn() {
	for _, t := range g.r.Own[g.operand] {
		if g.home {
			break
		}
		all, within := t.Header.Range(t.Levels[0].Mode), g.inMemory()
		if lo, hi := max(all[0], within[0]), min(all[1], within[1]); lo < hi {
			copy(g.place(lo, hi), g.own(t, lo, hi))
		}
	}
}

// ready waits for the rows that a step reads.
func (g *gather) ready(step int) error {
	span := g.inMemory()
	if g.spans != nil {
		span = g.spans[step]
	}
	return g.wait(span)
}

// wait waits until the rows of a range have arrived, and unpacks them.
func (g *gather) wait(span [2]int64) error {
	var requests []*comm.Request
	var came []*parcel
	for k := range g.from {
		p := &g.from[k]
		if !p.overlapsSpan(span) {
			continue
		}
		if p.coming != nil {
			requests, came = append(requests, p.coming), append(came, p)
			p.coming = nil
		}
		if ch := p.came; ch != nil {
			p.came = nil
			if err := <-ch; err != nil {
				return err
			}
		}
	}
	if err := comm.WaitAll(requests...); err != nil {
		return err
	}
	for _, p := range came {
		g.unpack(p)
	}
	return nil
}

// overlapsSpan reports whether some of the rows may be in a range.
func (p *parcel) overlapsSpan(span [2]int64) bool {
	return slices.ContainsFunc(p.parts, func(x rows) bool { return x.lo < span[1] && span[0] < x.hi })
}

// finish waits for all running sends and receives.
func (g *gather) finish() error {
	err := g.wait([2]int64{math.MinInt64, math.MaxInt64})
	if err == nil {
		err = g.confirmRead()
	}
	g.relaying.Wait()
	if serr := comm.WaitAll(g.leaving...); err == nil {
		err = serr
	}
	g.leaving = g.leaving[:0]
	return err
}

// arriving returns the buffer that receives a parcel.
func (g *gather) arriving(p *parcel) comm.Buf {
	if p.inPlace || !p.isContiguous() {
		return p.packed
	}
	first := g.inMemory()[0]
	return transfer.Values(g.read).Slice((p.parts[0].lo-first)*g.row, (p.parts[0].hi-first)*g.row)
}

// message returns the buffer to send for a parcel, after packing the rows if necessary.
func (g *gather) message(p *parcel) comm.Buf {
	own := g.r.Own[g.operand]
	if p.inPlace {
		return p.packed
	}
	if p.isContiguous() {
		t := own[p.parts[0].piece]
		return transfer.Values(t).Slice(g.at(t, p.parts[0].lo), g.at(t, p.parts[0].hi))
	}
	to := unsafe.Slice((*byte)(p.packed.Ptr), p.packed.Len)
	for k := range p.parts {
		x := &p.parts[k]
		from := g.own(own[x.piece], x.lo, x.hi)
		if x.list == nil {
			to = to[copy(to, from):]
			continue
		}
		packRows(to, from, x.list, x.lo, g.row)
		to = to[x.count()*g.row:]
	}
	return p.packed
}

// unpack copies packed rows to their places.
func (g *gather) unpack(p *parcel) {
	if p.inPlace || p.isContiguous() {
		return
	}
	from := unsafe.Slice((*byte)(p.packed.Ptr), p.packed.Len)
	for k := range p.parts {
		x := &p.parts[k]
		if x.list == nil {
			from = from[copy(g.place(x.lo, x.hi), from):]
			continue
		}
		unpackRows(g.place(x.lo, x.hi), from, x.list, x.lo, g.row)
		from = from[x.count()*g.row:]
	}
}

// packRows copies rows from the array src into the buffer dst, without gaps. list holds the numbers
// of the rows, and first is the number of the first row in src. bytes is the size of a row.
func packRows(dst, src []byte, list []int64, first, bytes int64) {
	if bytes == 8 {
		to, from := words(dst), words(src)
		for k, row := range list {
			to[k] = from[row-first]
		}
		return
	}
	for k, row := range list {
		at := (row - first) * bytes
		copy(dst[int64(k)*bytes:int64(k+1)*bytes], src[at:at+bytes])
	}
}

// unpackRows is the inverse of packRows: it copies packed rows from the buffer src to their
// positions in the array dst. list holds the numbers of the rows, and first is the number of the
// first row in dst. bytes is the size of a row.
func unpackRows(dst, src []byte, list []int64, first, bytes int64) {
	if bytes == 8 {
		to, from := words(dst), words(src)
		for k, row := range list {
			to[row-first] = from[k]
		}
		return
	}
	for k, row := range list {
		at := (row - first) * bytes
		copy(dst[at:at+bytes], src[int64(k)*bytes:int64(k+1)*bytes])
	}
}

// words returns b as a slice of 8-byte words, which can be copied without a function call.
func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// at returns the offset, in bytes, of a row in the values of piece t.
func (g *gather) at(t *tcs.Tensor, row int64) int64 {
	return (row-t.Levels[0].Offset)*g.row - t.Vals.First*int64(t.Vals.Width)
}

// inMemory returns the range of rows for which g.read has memory. The second number is the row
// after the last one.
func (g *gather) inMemory() [2]int64 { return g.read.Header.Range(g.read.Levels[0].Mode) }

// own returns rows [lo, hi) of a piece that this rank owns.
func (g *gather) own(t *tcs.Tensor, lo, hi int64) []byte {
	return t.Vals.Bytes()[g.at(t, lo):g.at(t, hi)]
}

// place returns the memory of rows [lo, hi) in g.read, the tensor from which leaves read the rows.
func (g *gather) place(lo, hi int64) []byte {
	first := g.inMemory()[0]
	return g.read.Vals.Bytes()[(lo-first)*g.row : (hi-first)*g.row]
}

func (g *gather) close() {
	tcs.CloseList(g.read)
	for _, m := range g.memory {
		m.Release()
	}
}
