package load

import (
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Held makes this rank's blocks of a tensor that lies over the ranks in other blocks, or
// in the same ones, which then are shown as they are: moved tells which. asIs says that the
// blocks have the target's format and type. Collective. The caller closes the blocks.
func (g *Target) Held(c comm.Comm, from *store.Blocks, asIs bool) (own map[plan.Block]*tcs.Tensor, moved bool, err error) {
	if asIs && g.Same(from) {
		own = map[plan.Block]*tcs.Tensor{}
		for n, t := range from.Own {
			own[plan.Block(n)] = t.Alias()
		}
		return own, false, nil
	}
	if asIs && tcs.AllDense(from.Kinds) {
		own, err = g.moveDense(c, from)
		return own, true, err
	}
	own, err = g.Scatter(c, g.entries(from))
	return own, true, err
}

// Same tells whether blocks are the target's own: every rank says the same of the same.
func (g *Target) Same(from *store.Blocks) bool {
	n := g.space().Size()
	if int64(len(from.Owners)) != n {
		return false
	}
	for b := range plan.Block(n) {
		if from.Owners[b] != g.Plan.Owner(g.Cuts, b) || !slices.Equal(from.Boxes[b], g.Plan.Box(g.Cuts, b, from.Dims)) {
			return false
		}
	}
	return true
}

// tagHeld is the tag of blocks that move.
const tagHeld = 0

// overlaps are the blocks of a tensor over the ranks beside those of a target.
type overlaps struct {
	from  *store.Blocks
	boxes [][][][2]int64 // of the target's blocks, by rank
}

func (g *Target) overlaps(from *store.Blocks) *overlaps {
	x := &overlaps{from, make([][][][2]int64, g.Plan.Ranks)}
	for b := range plan.Block(g.space().Size()) {
		rank := g.Plan.Owner(g.Cuts, b)
		x.boxes[rank] = append(x.boxes[rank], g.Plan.Box(g.Cuts, b, from.Dims))
	}
	return x
}

// wants tells whether a rank owns a block of the target that overlaps block n.
func (x *overlaps) wants(rank, n int) bool {
	return slices.ContainsFunc(x.boxes[rank], func(box [][2]int64) bool { return overlap(box, x.from.Boxes[n]) })
}

// receivers are the ranks to which block n goes: those that want it, but for its owner.
func (x *overlaps) receivers(n int) iter.Seq[int] {
	return func(yield func(rank int) bool) {
		for rank := range x.boxes {
			if rank != x.from.Owners[n] && x.wants(rank, n) && !yield(rank) {
				return
			}
		}
	}
}

// moveDense copies what blocks of dense tensors have in common: every block goes once to each
// rank that owns a block which overlaps it.
func (g *Target) moveDense(c comm.Comm, from *store.Blocks) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	fail := func(err error) (map[plan.Block]*tcs.Tensor, error) {
		closeAll(own)
		return nil, err
	}
	for _, b := range g.blocks(c.Rank()) {
		header := tcs.Header{Dims: from.Dims, Box: g.Plan.Box(g.Cuts, b, from.Dims), Type: from.Type}
		t, err := tcs.New(&tcs.Shape{Header: header, Kinds: from.Kinds, Modes: from.Modes, Counts: make([]int64, len(from.Kinds))}, g.Cfg.Limit, g.Spec.Name)
		if err != nil {
			return fail(err)
		}
		own[b] = t
	}
	x := g.overlaps(from)
	var sending []*transfer.Sending
	for n, owner := range from.Owners {
		if owner != c.Rank() {
			continue
		}
		for rank := range x.receivers(n) {
			s, err := transfer.Send(c, from.Own[n], rank, tagHeld)
			if err != nil {
				return fail(err)
			}
			sending = append(sending, s)
		}
	}
	like := transfer.Like{Name: g.Spec.Name, Dims: from.Dims, Type: from.Type, Kinds: from.Kinds, Modes: from.Modes}
	for n, owner := range from.Owners {
		if !x.wants(c.Rank(), n) {
			continue
		}
		t := from.Own[n]
		if owner != c.Rank() {
			var err error
			if t, err = transfer.Recv(c, like, owner, tagHeld, transfer.Pages(g.Cfg.Limit)); err != nil {
				return fail(err)
			}
		}
		for _, to := range own {
			CopyCommon(to, t)
		}
		if owner != c.Rank() {
			t.Close()
		}
	}
	for _, s := range sending {
		if err := s.Wait(); err != nil {
			return fail(err)
		}
	}
	return own, nil
}

// Moves tells travel what Held sends from rank to rank, as comm.Counters count it: exactly of a
// dense tensor that has the target's format and type, and else about, as if its entries were
// spread evenly.
func (g *Target) Moves(from *store.Blocks, asIs bool, entries int64, travel func(z plan.Size, from, to int)) {
	if asIs && g.Same(from) {
		return
	}
	x := g.overlaps(from)
	dense := asIs && tcs.AllDense(from.Kinds)
	for n, owner := range from.Owners {
		for rank := range x.receivers(n) {
			var z plan.Size
			if dense {
				z.Add(int64(coordinates(from.Boxes[n])), int64(from.Type.Size()))
				travel(z, owner, rank)
				continue
			}
			for _, box := range x.boxes[rank] {
				if share := coordinates(common(box, from.Boxes[n])) / coordinates(whole(from.Dims)); share > 0 {
					z.Entries += int64(math.Ceil(float64(entries) * share))
				}
			}
			z.Bytes, z.Arrays = g.messageBytes(z.Entries), 1
			if z.Entries > 0 {
				travel(z, owner, rank)
			}
		}
	}
}

// messageBytes is what a group of entries takes in a message: see exchange.
func (g *Target) messageBytes(n int64) int64 {
	bytes := 16 + int64(pad8(int(n)*g.Spec.Type.Size()))
	for _, m := range g.Spec.Modes {
		if wide(g.Spec.Dims[m]) {
			bytes += 8 * n
		} else {
			bytes += int64(pad8(4 * int(n)))
		}
	}
	return bytes
}

// whole is the box of all coordinates.
func whole(dims []int64) [][2]int64 {
	box := make([][2]int64, len(dims))
	for m, d := range dims {
		box[m][1] = d
	}
	return box
}

// common is what two boxes have in common.
func common(a, b [][2]int64) [][2]int64 {
	out := make([][2]int64, len(a))
	for m := range a {
		lo := max(a[m][0], b[m][0])
		out[m] = [2]int64{lo, max(lo, min(a[m][1], b[m][1]))}
	}
	return out
}

// coordinates is the number of coordinates of a box.
func coordinates(box [][2]int64) float64 {
	n := 1.0
	for _, r := range box {
		n *= float64(r[1] - r[0])
	}
	return n
}

func overlap(a, b [][2]int64) bool {
	for m := range a {
		if max(a[m][0], b[m][0]) >= min(a[m][1], b[m][1]) {
			return false
		}
	}
	return true
}

// CopyCommon copies the values that two blocks of a dense tensor both hold. A block may be a
// view, which shows a part of its levels.
func CopyCommon(to, from *tcs.Tensor) {
	n := len(to.Levels)
	if n == 0 {
		to.SetValue(0, from.Value(0))
		return
	}
	if to.Vals.Len == 0 || from.Vals.Len == 0 {
		return // of an empty level inside a large one, each coordinate of the large one would be visited
	}
	size := int64(to.Type.Size())
	src, dst := from.Vals.Bytes(), to.Vals.Bytes()
	var below func(l int, a, b int64)
	below = func(l int, a, b int64) {
		f, t := &from.Levels[l], &to.Levels[l]
		r, w := from.Range(f.Mode), to.Range(t.Mode)
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

// entries are those of this rank's blocks.
func (g *Target) entries(from *store.Blocks) coo.Stream {
	x := &blockStream{t: from}
	for _, n := range slices.Sorted(maps.Keys(from.Own)) {
		t := from.Own[n]
		x.parts = append(x.parts, coo.FromTensor(t, coo.ZerosFor(t, g.Spec.Kinds, g.Spec.Modes, false)))
	}
	return x
}

// blockStream is several blocks' entries, one block after another.
type blockStream struct {
	t     *store.Blocks
	parts []coo.Stream
	at    int
}

func (x *blockStream) Dims() ([]int64, bool) { return x.t.Dims, true }
func (x *blockStream) Type() tcs.Type        { return x.t.Type }

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
