package input

import (
	"strings"

	"distaff/codegen/format"
	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/bridge"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// storedBlocks makes the blocks of a tensor that is cut along its storage order. Collective.
func (r *Reader) storedBlocks(c comm.Comm, part *partition.Partition, name string) (map[plan.Block]*tcs.Tensor, error) {
	if r.Sources[name].held == nil { // what loading sends is no part of a statement's traffic
		c = c.Uncounted()
	}
	f := r.Formats[name]
	return Stored(r.Env, c, r.Target(part, name), func(even *load.Target) (map[plan.Block]*tcs.Tensor, error) {
		r.Formats[name] = bridge.FormatOf(even.Spec.Kinds, even.Spec.Modes)
		defer func() { r.Formats[name] = f }()
		return r.Blocks(c, even.Partition, name)
	})
}

// Stored makes this rank's blocks of a tensor that is cut along its storage order. even makes the tensor
// in even ranges of its outermost stored mode first, in which the ranks find where pieces begin; the
// partition of g is then located. The entries go from there to where their pieces live. Collective. The
// caller closes the blocks.
func Stored(e *env.Env, c comm.Comm, g *load.Target, even func(*load.Target) (map[plan.Block]*tcs.Tensor, error)) (map[plan.Block]*tcs.Tensor, error) {
	plain := *g
	plain.Spec.Kinds = strings.Map(func(k rune) rune { // of levels that can be cut and put together
		if k != rune(format.Dense) {
			return rune(format.Compressed)
		}
		return k
	}, g.Spec.Kinds)
	plain.Partition = partition.Evenly(g.Spec.Dims, g.Spec.Modes[0], c.Size())
	parts, err := even(&plain)
	if err != nil {
		return nil, err
	}
	x := &locating{c: c.Uncounted(), t: parts[plan.Block(c.Rank())], sizes: g.Spec.Dims}
	a := g.Partition.Ordered()
	if a.Keys, err = x.keys(a.Ordered); err != nil {
		tcs.CloseAll(parts)
		return nil, err
	}
	own, err := assembled(e, c, &plain, g.Partition, parts)
	if err != nil || plain.Spec.Kinds == g.Spec.Kinds {
		return own, err
	}
	for b, t := range own {
		if own[b], err = coo.Repack(t, g.Spec.Kinds, g.Spec.Modes, coo.KeepAll, e.Config()); err != nil {
			own[b] = t
			break
		}
		t.Close()
	}
	if err := load.Agree(c, err); err != nil {
		tcs.CloseAll(own)
		return nil, err
	}
	return own, nil
}

// assembled makes the pieces of a partition of the even ranges of a tensor, which it takes over.
func assembled(e *env.Env, c comm.Comm, from *load.Target, part *partition.Partition, parts map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	spec := from.Spec
	s := &assemble.Sum{Like: transfer.Like{Name: spec.Name, Dims: spec.Dims, Type: spec.Type, Kinds: spec.Kinds, Modes: spec.Modes}}
	for _, t := range parts {
		s.Like.Type = t.Type
	}
	shape, err := shapeOf(c, s.Like, parts)
	if err != nil {
		tcs.CloseAll(parts)
		return nil, err
	}
	s.Parts, s.Pieces = assemble.PiecesOf(from.Partition, spec.Dims), assemble.PiecesOf(part, spec.Dims)
	return s.Run(c, parts, assemble.Options{Alloc: e.Arena.Alloc, Limit: e.Limit, Shape: shape, Threads: e.Threads})
}

// shapeOf is that of blocks whose arrays are as wide as the widest at any rank.
func shapeOf(c comm.Comm, like transfer.Like, parts map[plan.Block]*tcs.Tensor) (*reduce.Shape, error) {
	n := len(like.Modes)
	widths := make([]int64, 2*n)
	for _, t := range parts {
		for l, lev := range t.Levels {
			widths[2*l], widths[2*l+1] = max(widths[2*l], int64(lev.Pos.Width)), max(widths[2*l+1], int64(lev.Crd.Width))
		}
	}
	if err := comm.Allreduce(c.Uncounted(), widths, comm.Max); err != nil {
		return nil, err
	}
	s := &reduce.Shape{Name: like.Name, Dims: like.Dims, Type: like.Type, Kinds: like.Kinds, Modes: like.Modes}
	for l := range n {
		s.PosWidth, s.CrdWidth = append(s.PosWidth, uint8(widths[2*l])), append(s.CrdWidth, uint8(widths[2*l+1]))
	}
	return s, nil
}

// locating finds the keys between which ranges of a tensor's entries lie that cuts make, over ranks
// each of which has a range of the outermost stored mode, in their order.
type locating struct {
	c     comm.Comm
	t     *tcs.Tensor // this rank's
	sizes []int64
}

// keys are those of the ranges of o: the first and the last nil.
func (x *locating) keys(o *place.Ordered) (keys [][]int64, err error) {
	keys = [][]int64{nil, nil}
	for _, cut := range o.Cuts {
		if cut.Level < 0 {
			keys = x.coordinates(keys, cut.N, o)
			continue
		}
		if keys, err = x.positions(keys, cut, len(o.Modes)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// coordinates cuts each range, which begins with whole coordinates of the outermost mode, by these.
func (x *locating) coordinates(keys [][]int64, n int64, o *place.Ordered) [][]int64 {
	first := func(key []int64, open int64) int64 {
		if key == nil {
			return open
		}
		return key[0]
	}
	out := [][]int64{nil}
	for q := range len(keys) - 1 {
		lo, hi := first(keys[q], 0), first(keys[q+1], x.sizes[o.Modes[0]])
		for _, at := range place.EvenCuts(hi-lo, n)[1:n] {
			key := make([]int64, len(o.Modes))
			key[0] = lo + at
			out = append(out, key)
		}
		out = append(out, keys[q+1])
	}
	return out
}

// positions cuts each range by the positions of a level.
func (x *locating) positions(keys [][]int64, cut place.OrderedCut, coordinates int) ([][]int64, error) {
	before, err := x.before(keys, cut.Level)
	if err != nil {
		return nil, err
	}
	var ends []int64 // of the ranges that are made, but for the last of each of keys: positions
	for q := range len(keys) - 1 {
		for _, at := range place.EvenCuts(before[q+1]-before[q], cut.N)[1:cut.N] {
			ends = append(ends, before[q]+at)
		}
	}
	behind, err := x.behind(ends, cut.Level, coordinates)
	if err != nil {
		return nil, err
	}
	out := [][]int64{nil}
	for q := range len(keys) - 1 {
		for n := range int(cut.N) - 1 {
			key := behind[q*int(cut.N-1)+n]
			if ends[q*int(cut.N-1)+n] == before[q] { // nothing lies between
				if key = keys[q]; key == nil {
					key = make([]int64, coordinates)
				}
			}
			out = append(out, key)
		}
		out = append(out, keys[q+1])
	}
	return out, nil
}

// before is how many positions of a level lie before each key.
func (x *locating) before(keys [][]int64, level int) ([]int64, error) {
	lo, hi := x.t.Interval(level)
	n := make([]int64, len(keys)+1) // the last: whether a search failed
	var failed error
	for k, key := range keys {
		switch {
		case key != nil:
			at, err := x.t.Find(key[:level+1])
			if err != nil {
				failed = err
			}
			n[k] = at - lo
		case k > 0:
			n[k] = hi - lo
		}
	}
	if err := load.Agree(x.c, failed); err != nil {
		return nil, err
	}
	err := comm.Allreduce(x.c, n, comm.Sum)
	return n[:len(keys)], err
}

// behind are the keys right behind the entries before some positions of a level, which are counted over all
// ranks: each the successor of the last of these entries.
func (x *locating) behind(ends []int64, level, coordinates int) ([][]int64, error) {
	lo, hi := x.t.Interval(level)
	counts := make([]int64, x.c.Size())
	counts[x.c.Rank()] = hi - lo
	if err := comm.Allreduce(x.c, counts, comm.Sum); err != nil {
		return nil, err
	}
	first := int64(0)
	for _, n := range counts[:x.c.Rank()] {
		first += n
	}
	all := make([]int64, len(ends)*coordinates)
	var failed error
	for k, end := range ends {
		if end <= first || end > first+hi-lo {
			continue
		}
		key, err := x.t.Key(level, lo+end-1-first)
		if err != nil {
			failed = err
			continue
		}
		key[level]++
		copy(all[k*coordinates:], key)
	}
	if err := load.Agree(x.c, failed); err != nil {
		return nil, err
	}
	if err := comm.Allreduce(x.c, all, comm.Sum); err != nil {
		return nil, err
	}
	keys := make([][]int64, len(ends))
	for k := range keys {
		keys[k] = all[k*coordinates : (k+1)*coordinates : (k+1)*coordinates]
	}
	return keys, nil
}
