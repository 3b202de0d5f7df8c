package assemble

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Complete makes neighbouring pieces of a tensor store the same paths. A path is a tuple of
// coordinates of the levels down to the last compressed level. Below a path, the dense levels store
// every element, even if it is zero. If the boundary between two pieces divides these dense levels,
// both pieces must store a path, or neither. Complete adds the missing paths with the value 0. It
// may replace a view by a copy even if the piece misses no path.
//
// o.Shape is the shape of the pieces. It may be nil if no two pieces are neighbours. The messages
// are not counted (Comm.Uncounted). Every rank must call Complete.
func Complete(c comm.Comm, b *store.Blocks, o Options) error {
	groups := neighbours(b)
	if len(groups) == 0 {
		return nil
	}
	x := &completing{options: o, c: c.Uncounted(), b: b, deep: lastCompressed(b.Layout.Format),
		shape: *o.Shape}
	x.shape.Layout.Type = b.Layout.Type
	x.like = transfer.Like{Name: o.Shape.Name, Layout: b.Layout}
	differ, err := x.differ(groups)
	if err != nil {
		return err
	}
	for _, g := range differ {
		if err = x.send(g); err != nil {
			break
		}
	}
	for n := 0; n < len(differ) && err == nil; n++ {
		err = x.complete(differ[n])
	}
	if err != nil && c.Size() > 1 {
		if o.Abort == nil {
			c.Abort(err)
		} else {
			o.Abort(err)
		}
	}
	for _, w := range x.way {
		if e := w.sending.Wait(); err == nil {
			err = e
		}
		w.t.Close()
	}
	return err
}

// lastCompressed returns the last compressed level, or -1 if there is none.
func lastCompressed(f tensor.Format) int {
	l := len(f.Levels) - 1
	for l >= 0 && f.Levels[l] != tensor.Compressed {
		l--
	}
	return l
}

// neighbours returns groups of neighbouring pieces. The pieces of a group differ only in modes of
// the dense levels below the last compressed level. Empty pieces, and pieces without a neighbour,
// are left out. A tensor with levels of other kinds than d and s has no groups.
func neighbours(b *store.Blocks) (groups [][]int) {
	deep := lastCompressed(b.Layout.Format)
	if deep < 0 || deep == len(b.Layout.Format.Levels)-1 ||
		!b.Layout.Format.IsDenseOrCompressed() {
		return nil
	}
	cut := func(k int) bool {
		return slices.ContainsFunc(b.Layout.Format.Order[deep+1:],
			func(m int) bool { return b.Boxes[k][m] != [2]int64{0, b.Layout.Dims[m]} })
	}
	at := map[string]int{}
	for k, box := range b.Boxes {
		if !cut(k) || slices.ContainsFunc(box, func(r [2]int64) bool { return r[0] >= r[1] }) {
			continue
		}
		var above [][2]int64
		for _, m := range b.Layout.Format.Order[:deep+1] {
			above = append(above, box[m])
		}
		key := fmt.Sprint(above)
		if b.From != nil {
			key += fmt.Sprint(b.From[k], b.To[k])
		}
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], k)
	}
	return slices.DeleteFunc(groups, func(g []int) bool { return len(g) < 2 })
}

// completing is the state of Complete at one rank.
type completing struct {
	options Options
	c       comm.Comm
	b       *store.Blocks
	deep    int
	shape   reduce.Shape
	like    transfer.Like
	way     []underWay
}

// differ returns those groups whose pieces may have different paths. It compares the SHA-256 sums
// of the arrays that determine the paths. Every rank must call it.
func (x *completing) differ(groups [][]int) (list [][]int, err error) {
	const words = sha256.Size / 8
	// for each word, its maximum and the maximum of its complement
	most := make([]int64, 2*words*len(groups))
	for n := range most {
		most[n] = math.MinInt64
	}
	for n, g := range groups {
		for _, k := range g {
			if x.b.Own[k] == nil {
				continue
			}
			sum := x.sum(x.b.Own[k])
			for w := range words {
				v := int64(binary.LittleEndian.Uint64(sum[8*w:]))
				at := 2 * (n*words + w)
				most[at], most[at+1] = max(most[at], v), max(most[at+1], ^v)
			}
		}
	}
	if err := comm.Allreduce(x.c, most, comm.Max); err != nil {
		return nil, err
	}
	for n, g := range groups {
		for w := range words {
			if at := 2 * (n*words + w); most[at] != ^most[at+1] {
				list = append(list, g)
				break
			}
		}
	}
	return list, nil
}

// sum returns the SHA-256 of the arrays that determine a piece's paths.
func (x *completing) sum(t *tcs.Tensor) [sha256.Size]byte {
	h := sha256.New()
	buf := make([]byte, 0, 1<<13)
	put := func(v int64) {
		if buf = binary.LittleEndian.AppendUint64(buf, uint64(v)); len(buf) == cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	for _, lev := range t.Levels[:x.deep+1] {
		put(lev.Size)
		put(lev.Offset)
		put(lev.Pos.First)
		put(lev.Pos.Len)
		put(lev.Crd.Len)
		for n := range lev.Pos.Len {
			put(lev.Pos.Int(n) - lev.Crd.First)
		}
		for n := range lev.Crd.Len {
			put(lev.Crd.Int(n))
		}
	}
	h.Write(buf)
	return [sha256.Size]byte(h.Sum(nil))
}

// paths returns a tensor with only those levels of piece t that determine the paths of t. The inner
// levels and the values are empty. The other arrays are shared with t.
func (x *completing) paths(t *tcs.Tensor) *tcs.Tensor {
	p := t.Alias()
	p.Levels, p.Header.Box = slices.Clone(p.Levels), boxOf(t)
	for l := x.deep + 1; l < len(p.Levels); l++ {
		lev := &p.Levels[l]
		lev.Size, p.Header.Box[lev.Mode][1] = 0, p.Header.Box[lev.Mode][0]
	}
	p.Vals = tcs.Array{Width: p.Vals.Width}
	return p
}

// send handles one group of pieces. It starts to send the paths of the pieces that this rank holds
// to all other ranks that hold pieces of the same group.
func (x *completing) send(group []int) error {
	to := map[int]bool{x.c.Rank(): true}
	for _, k := range group {
		if x.b.Owners[k] == x.c.Rank() {
			continue
		}
		if rank := x.b.Owners[k]; !to[rank] {
			to[rank] = true
			if err := x.sendTo(group, rank); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *completing) sendTo(group []int, rank int) error {
	for _, k := range group {
		if x.b.Own[k] == nil {
			continue
		}
		p := x.paths(x.b.Own[k])
		sending, err := transfer.Send(x.c, p, rank, x.options.Tag)
		if err != nil {
			p.Close()
			return err
		}
		x.way = append(x.way, underWay{sending: sending, t: p})
	}
	return nil
}

// complete handles one group of pieces. To each piece that this rank holds, it adds the paths that
// only other pieces of the group have.
func (x *completing) complete(group []int) error {
	if !slices.ContainsFunc(group, func(k int) bool { return x.b.Own[k] != nil }) {
		return nil
	}
	var all *tcs.Tensor
	defer func() {
		if all != nil {
			all.Close()
		}
	}()
	for _, k := range group {
		next, err := x.take(k)
		if err != nil {
			return err
		}
		if all == nil {
			all = next
			continue
		}
		both, err := x.union(all, next)
		next.Close()
		if err != nil {
			return err
		}
		all.Close()
		all = both
	}
	for _, k := range group {
		if x.b.Own[k] == nil {
			continue
		}
		if err := x.fill(k, all); err != nil {
			return err
		}
	}
	return nil
}

// take returns the paths of piece k. If the piece belongs to another rank, it receives them from
// that rank.
func (x *completing) take(k int) (*tcs.Tensor, error) {
	if t := x.b.Own[k]; t != nil {
		return x.paths(t), nil
	}
	return transfer.Recv(x.c, x.like, x.b.Owners[k], x.options.Tag, x.options.Alloc)
}

// union returns the union of the paths of p and q.
func (x *completing) union(p, q *tcs.Tensor) (*tcs.Tensor, error) {
	pattern, maps, err := reduce.Union(&x.shape, p.Header.Box, []*tcs.Tensor{p, q}, 0,
		x.options.Limit)
	if err != nil {
		return nil, err
	}
	defer pattern.Close()
	closeList(maps)
	return pattern.Block(reduce.Alloc(x.options.Alloc))
}

// fill completes piece k: it adds the paths that other pieces of its group have and piece k lacks.
// allPaths is a tensor that contains all paths of the group.
func (x *completing) fill(k int, allPaths *tcs.Tensor) error {
	t := x.b.Own[k]
	if !isFormed(t) {
		own, err := copyPart(t, Region{Box: x.b.Boxes[k]}, x.like.Name, x.options.Alloc)
		if err != nil {
			return err
		}
		x.b.Own[k] = own
		t.Close()
		t = own
	}
	if t.Levels[x.deep].Crd.Len == allPaths.Levels[x.deep].Crd.Len { // then t has all paths
		return nil
	}
	pattern, maps, err := reduce.Union(&x.shape, x.b.Boxes[k], []*tcs.Tensor{t, allPaths}, 0,
		x.options.Limit)
	if err != nil {
		return err
	}
	defer pattern.Close()
	defer closeList(maps)
	out, err := pattern.Block(reduce.Alloc(x.options.Alloc))
	if err != nil {
		return err
	}
	reduce.Clear(out, x.options.Threads)
	reduce.Add(out, t, maps[0], x.options.Threads)
	x.b.Own[k] = out
	return t.Close()
}

func closeList(list []*tcs.Tensor) {
	for _, t := range list {
		t.Close()
	}
}

// CompleteCost returns an upper bound of the bytes that Complete needs at each rank in addition to
// the completed pieces. ranks is the number of ranks. size returns the estimated sizes of the
// pieces, and pos and crd are the widths of their level arrays.
//
// At its peak, Complete holds five things: the piece that it replaces, the paths that have just
// arrived, the paths that were collected before, the union of the two sets of paths, and the maps
// from the two sets to the union. The arrays of the union may be enlarged while it is made.
func CompleteCost(b *store.Blocks, ranks int, pos, crd []uint8, size plan.Sizes) []int64 {
	most := make([]int64, ranks)
	for _, g := range neighbours(b) {
		for _, k := range g {
			z := size(plan.Block(k))
			paths := z.Memory() - z.Most()*int64(b.Layout.Type.Size())
			rank := b.Owners[k]
			most[rank] = max(most[rank], z.Memory()+5*paths+reduce.Building(paths, pos, crd))
		}
	}
	return most
}
