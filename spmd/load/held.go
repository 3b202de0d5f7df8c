package load

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/assemble"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Redistribute makes this rank's blocks of a tensor that is distributed over the ranks. old
// describes the blocks where the tensor is now. asIs says that the old blocks have the target's
// format and type. If asIs is true and the target has the same blocks, the results are views of the
// old blocks and moved is false. Every rank must call it. The caller closes the blocks.
func (g *Target) Redistribute(c comm.Comm, old *store.Blocks,
	asIs bool) (own map[plan.Block]*tcs.Tensor, moved bool, err error) {
	if asIs && g.Same(old) {
		own = map[plan.Block]*tcs.Tensor{}
		for n, t := range old.Own {
			own[plan.Block(n)] = t.Alias()
		}
		return own, false, nil
	}
	// if boxes of blocks between keys overlap, only one block has the entries of the overlap
	old, end, err := old.Boxed()
	if err := Agree(c, err); err != nil {
		return nil, true, err
	}
	defer end()
	if asIs && old.Layout.Format.AllDense() {
		own, err = g.moveDense(c, old)
		return own, true, err
	}
	own, err = g.Scatter(c, g.entries(old))
	return own, true, err
}

// Same reports whether the old blocks are the blocks that the target describes, with the same
// owners. All ranks return the same result.
func (g *Target) Same(old *store.Blocks) bool {
	n := g.Partition.Pieces()
	keyed := g.Partition.Ordered() != nil
	if int64(len(old.Owners)) != n || !g.Partition.Located() || keyed != (old.From != nil) {
		return false
	}
	for b := range plan.Block(n) {
		if keyed {
			lo, hi := g.Partition.Keys(b)
			if !slices.Equal(lo, old.From[b]) || !slices.Equal(hi, old.To[b]) {
				return false
			}
		}
		if old.Owners[b] != g.Partition.OwnerOf(b) ||
			!slices.Equal(old.Boxes[b], g.Partition.Box(b, old.Layout.Dims)) {
			return false
		}
	}
	return true
}

// tagHeld is the message tag of blocks that are moved.
const tagHeld = 0

// overlaps finds which blocks of a target overlap the blocks of a distributed tensor. If the target
// has an ordered axis, it may also find blocks that do not overlap (see orderedRanges).
type overlaps struct {
	g      *Target
	from   *store.Blocks
	ranges [][2]int64 // by axis: the ranges that overlap a box
	at     []int64
	list   []wanted
}

// wanted is a block b of the target that may overlap an existing block. rank is the owner of b.
type wanted struct {
	rank int
	b    plan.Block
}

func (g *Target) overlaps(from *store.Blocks) *overlaps {
	n := len(g.Partition.Axes)
	return &overlaps{g: g, from: from, ranges: make([][2]int64, n), at: make([]int64, n)}
}

// of returns the target's blocks that overlap block n, in the order of their ranks. If the target
// has an ordered axis, the result may also contain blocks that do not overlap block n. The slice is
// reused for the next call.
func (x *overlaps) of(n int) []wanted {
	x.list = x.list[:0]
	box := x.from.Boxes[n]
	if !boxesOverlap(box, whole(x.from.Layout.Dims)) {
		return nil
	}
	for k := range x.g.Partition.Axes {
		a := &x.g.Partition.Axes[k]
		if a.Ordered != nil {
			x.ranges[k] = x.orderedRanges(a, box)
		} else {
			x.ranges[k] = axisRanges(a, box)
		}
	}
	x.add(0)
	slices.SortFunc(x.list, func(a,
		b wanted) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.b, b.b))
	})
	return x.list
}

// orderedRanges returns the half-open interval [first, end) of the ranges of ordered axis a that
// overlap the box. It compares only coordinates of the axis's outermost mode, and so some of the
// ranges may not really overlap the box.
func (x *overlaps) orderedRanges(a *partition.Axis, box [][2]int64) [2]int64 {
	r := box[a.Modes[0]]
	n := int(a.Ranges())
	first := sort.Search(n, func(k int) bool { return x.outerRange(a, int64(k))[1] > r[0] })
	end := sort.Search(n, func(k int) bool { return x.outerRange(a, int64(k))[0] >= r[1] })
	return [2]int64{int64(first), int64(end)}
}

// outerRange returns the bounds of range k of ordered axis a, in the first mode of a. The bounds
// are a half-open interval of coordinates (see Axis.Bounds).
func (x *overlaps) outerRange(a *partition.Axis, k int64) [2]int64 {
	sizes := make([]int64, len(a.Modes))
	for n, m := range a.Modes {
		sizes[n] = x.from.Layout.Dims[m]
	}
	return a.Bounds(k, sizes)[0]
}

// axisRanges returns the half-open interval [first, end) of the ranges of axis a that overlap the
// box. A range overlaps the box if it does so in every mode of the axis.
func axisRanges(a *partition.Axis, box [][2]int64) [2]int64 {
	all := [2]int64{0, a.Ranges()}
	for _, m := range a.Modes {
		first, _ := slices.BinarySearch(a.Cuts[1:], box[m][0]+1)
		end, _ := slices.BinarySearch(a.Cuts[:len(a.Cuts)-1], box[m][1])
		all = [2]int64{max(all[0], int64(first)), min(all[1], int64(end))}
	}
	return all
}

// add appends blocks to x.list, one for each combination of ranges of the axes. For an axis before
// k, the range is x.at of this axis. For an axis from k on, all ranges in x.ranges are combined.
// add skips empty ranges.
func (x *overlaps) add(k int) {
	p := x.g.Partition
	if k == len(x.at) {
		x.list = append(x.list, wanted{p.Owner(x.at), p.Of(x.at)})
		return
	}
	a := &p.Axes[k]
	for i := x.ranges[k][0]; i < x.ranges[k][1]; i++ {
		if x.at[k] = i; a.Ordered != nil {
			if r := x.outerRange(a, i); r[0] < r[1] {
				x.add(k + 1)
			}
		} else if a.Cuts[i] < a.Cuts[i+1] {
			x.add(k + 1)
		}
	}
}

// receivers yields the ranks that block n is sent to, and for each rank its blocks that overlap
// block n (see of). The owner of block n is left out.
func (x *overlaps) receivers(n int) iter.Seq2[int, []wanted] {
	return func(yield func(int, []wanted) bool) {
		list := x.of(n)
		for len(list) > 0 {
			k := 1
			for k < len(list) && list[k].rank == list[0].rank {
				k++
			}
			if rank := list[0].rank; rank != x.from.Owners[n] && !yield(rank, list[:k]) {
				return
			}
			list = list[k:]
		}
	}
}

// moveDense makes this rank's blocks of a dense tensor: it copies the overlaps of old and new
// blocks. The overlap of two blocks on different ranks is one message.
func (g *Target) moveDense(c comm.Comm, from *store.Blocks) (own map[plan.Block]*tcs.Tensor,
	err error) {
	own = map[plan.Block]*tcs.Tensor{}
	m := &moving{g: g, c: c, from: from}
	defer func() {
		if err == nil { // otherwise other ranks may wait for this rank, whose error ends the job
			err = m.wait(0)
		}
		if err != nil {
			tcs.CloseAll(own)
			own = nil
		}
	}()
	mine := g.blocks(c.Rank())
	for _, b := range mine {
		header := tcs.Header{Dims: from.Layout.Dims, Box: g.Partition.Box(b, from.Layout.Dims),
			Type: from.Layout.Type}
		t,
			err := tcs.New(&tcs.Shape{Header: header, Format: from.Layout.Format,
			Counts: make([]int64, len(from.Layout.Format.Levels))}, g.Cfg.Limit, g.Spec.Name)
		if err != nil {
			return own, err
		}
		own[b] = t
	}
	x := g.overlaps(from)
	for n, owner := range from.Owners {
		if owner == c.Rank() {
			for rank, blocks := range x.receivers(n) {
				for _, w := range blocks {
					if err := m.send(n, w, rank); err != nil {
						return own, err
					}
				}
			}
		}
		for _, b := range mine {
			if err := m.receive(n, own[b]); err != nil {
				return own, err
			}
		}
	}
	return own, nil
}

// moving holds the messages of moveDense.
type moving struct {
	g      *Target
	c      comm.Comm
	from   *store.Blocks
	flight []inFlight
	bytes  int64 // bytes of the messages in flight
}

// inFlight is a message whose sending has started.
type inFlight struct {
	sending *transfer.Sending
	t       *tcs.Tensor
}

// aheadBytes limits the bytes of the messages that a rank has in flight. If the messages exceed the
// limit, the rank waits for the oldest ones. This wait causes no deadlock, because all ranks visit
// the blocks in the same order.
const aheadBytes = 64 << 20

// send starts to send to a rank the overlap of block n with that rank's block w.
func (m *moving) send(n int, w wanted, rank int) error {
	box := intersection(m.g.Partition.Box(w.b, m.from.Layout.Dims), m.from.Boxes[n])
	t, _, err := assemble.DensePart(m.from.Own[n], box, m.g.Spec.Name, transfer.Pages(m.g.Cfg.Limit))
	if err != nil {
		return err
	}
	s, err := transfer.Send(m.c, t, rank, tagHeld)
	if err != nil {
		t.Close()
		return err
	}
	m.flight, m.bytes = append(m.flight, inFlight{s, t}), m.bytes+t.Bytes()
	return m.wait(aheadBytes)
}

// receive copies values of block n of the old tensor into dst, one of this rank's new blocks. It
// copies the values at the coordinates that both blocks contain. If another rank owns block n,
// receive first receives the values from that rank. It does nothing if the blocks do not overlap.
func (m *moving) receive(n int, dst *tcs.Tensor) error {
	if !boxesOverlap(dst.Header.Box, m.from.Boxes[n]) {
		return nil
	}
	owner := m.from.Owners[n]
	if owner == m.c.Rank() {
		CopyCommon(dst, m.from.Own[n])
		return nil
	}
	like := transfer.Like{Name: m.g.Spec.Name, Layout: m.from.Layout}
	t, err := transfer.Recv(m.c, like, owner, tagHeld, transfer.Pages(m.g.Cfg.Limit))
	if err != nil {
		return err
	}
	CopyCommon(dst, t)
	return t.Close()
}

// wait waits for messages in flight, the oldest first, until the total size of the remaining
// messages is at most `rest` bytes. If `rest` is 0, it waits for all messages. It returns the first
// error.
func (m *moving) wait(rest int64) (err error) {
	for len(m.flight) > 0 && (m.bytes > rest || rest == 0) {
		w := m.flight[0]
		m.flight, m.bytes = m.flight[1:], m.bytes-w.t.Bytes()
		if e := w.sending.Wait(); err == nil {
			err = e
		}
		w.t.Close()
	}
	return err
}

// Moves calls travel for each message that Redistribute sends from rank to rank, with the sizes
// that comm.Counters would count. exact says that the sizes are not estimates. The sizes are
// estimates if bounds of blocks are guessed. They are also estimates if entries are sent because
// the tensor is not dense, or lacks the target's format or type. Moves then assumes that the
// entries are spread evenly.
func (g *Target) Moves(old *store.Blocks, asIs bool, entries int64,
	travel func(z plan.Size, from, to int)) (exact bool) {
	exact = !old.Guessed && !g.Partition.Guessed()
	if asIs && g.Same(old) {
		return exact
	}
	old = old.InBoxes()
	if asIs && old.Layout.Format.AllDense() {
		g.parts(old, travel)
		return exact
	}
	x := g.overlaps(old)
	for n, owner := range old.Owners {
		for rank, blocks := range x.receivers(n) {
			exact = false
			var z plan.Size
			for _, w := range blocks {
				box := g.Partition.Box(w.b, old.Layout.Dims)
				if share := volume(intersection(box, old.Boxes[n])) / volume(whole(old.Layout.Dims)); share >
					0 {
					z.Entries += int64(math.Ceil(float64(entries) * share))
				}
			}
			z.Bytes, z.Arrays = g.messageBytes(z.Entries), 1
			if z.Entries > 0 {
				travel(z, owner, rank)
			}
		}
	}
	return exact
}

// parts predicts the messages of moveDense. It calls travel for each message, with the size, the
// sender and the receiver.
func (g *Target) parts(from *store.Blocks, travel func(z plan.Size, from, to int)) {
	x := g.overlaps(from)
	for n, owner := range from.Owners {
		for rank, blocks := range x.receivers(n) {
			for _, w := range blocks {
				var z plan.Size
				z.Add(int64(volume(intersection(g.Partition.Box(w.b, from.Layout.Dims), from.Boxes[n]))),
					int64(from.Layout.Type.Size()))
				travel(z, owner, rank)
			}
		}
	}
}

// messageBytes returns the size of a group of n entries in a message (see exchange).
func (g *Target) messageBytes(n int64) int64 {
	bytes := 16 + int64(pad8(int(n)*int(g.Spec.Type.Size())))
	for _, m := range g.Spec.Format.Order {
		if wide(g.Spec.Dims[m]) {
			bytes += 8 * n
		} else {
			bytes += int64(pad8(4 * int(n)))
		}
	}
	return bytes
}

// whole returns the box of all coordinates.
func whole(dims []int64) [][2]int64 {
	box := make([][2]int64, len(dims))
	for m, d := range dims {
		box[m][1] = d
	}
	return box
}

// intersection returns the intersection of two boxes.
func intersection(a, b [][2]int64) [][2]int64 {
	out := make([][2]int64, len(a))
	for m := range a {
		lo := max(a[m][0], b[m][0])
		out[m] = [2]int64{lo, max(lo, min(a[m][1], b[m][1]))}
	}
	return out
}

// volume returns the number of coordinates in a box.
func volume(box [][2]int64) float64 {
	n := 1.0
	for _, r := range box {
		n *= float64(r[1] - r[0])
	}
	return n
}

func boxesOverlap(a, b [][2]int64) bool {
	for m := range a {
		if max(a[m][0], b[m][0]) >= min(a[m][1], b[m][1]) {
			return false
		}
	}
	return true
}

// CopyCommon copies values from one block of a dense tensor to another, at the coordinates that
// both blocks contain. A block may be a view: its levels then have the sizes of a larger block, but
// only the values in its own box are used.
func CopyCommon(to, from *tcs.Tensor) {
	n := len(to.Levels)
	if n == 0 {
		to.SetValue(0, from.Value(0))
		return
	}
	if to.Vals.Len == 0 || from.Vals.Len == 0 {
		return // otherwise each coordinate of a large level around an empty one would be visited
	}
	size := int64(to.Header.Type.Size())
	src, dst := from.Vals.Bytes(), to.Vals.Bytes()
	var below func(l int, a, b int64)
	below = func(l int, a, b int64) {
		f, t := &from.Levels[l], &to.Levels[l]
		r, w := from.Header.Range(f.Mode), to.Header.Range(t.Mode)
		lo, hi := max(r[0], w[0]), min(r[1], w[1])
		if lo >= hi {
			return
		}
		if l == n-1 {
			x, y := (a*f.Size+lo-f.Offset-from.Vals.First)*size, (b*t.Size+lo-t.Offset-to.Vals.First)*size
			copy(dst[y:y+(hi-lo)*size], src[x:x+(hi-lo)*size])
			return
		}
		for i := lo; i < hi; i++ {
			below(l+1, a*f.Size+i-f.Offset, b*t.Size+i-t.Offset)
		}
	}
	below(0, 0, 0)
}

// entries returns the entries of this rank's blocks as a stream.
func (g *Target) entries(from *store.Blocks) coo.Stream {
	x := &blockStream{t: from}
	for _, n := range slices.Sorted(maps.Keys(from.Own)) {
		t := from.Own[n]
		x.parts = append(x.parts, coo.FromTensor(t, coo.ZerosFor(t, g.Spec.Format, false)))
	}
	return x
}

// blockStream yields the entries of several blocks, one block after another.
type blockStream struct {
	t     *store.Blocks
	parts []coo.Stream
	at    int
}

func (x *blockStream) Dims() ([]int64, bool) { return x.t.Layout.Dims, true }
func (x *blockStream) Type() tensor.Type     { return x.t.Layout.Type }

func (x *blockStream) Next(b *coo.Batch) error {
	for ; x.at < len(x.parts); x.at++ {
		if err := x.parts[x.at].Next(b); err != io.EOF {
			return err
		}
	}
	return io.EOF
}

func (x *blockStream) Rewind() error {
	x.at = 0
	for _, p := range x.parts {
		if err := p.Rewind(); err != nil {
			return err
		}
	}
	return nil
}

func (x *blockStream) Close() error { return nil }
