package load

import (
	"context"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/plan"
)

// Between makes this rank's blocks as views between keys. Every rank must have the tensor, which
// must be cut along its storage order only. Between first computes the keys and stores them in the
// partition. It returns false if blocks cannot be made in this way. Every rank must call it. The
// caller closes the blocks, which retain the memory of the tensor.
func (g *Target) Between(c comm.Comm, s Source) (own map[plan.Block]*tcs.Tensor, ok bool,
	err error) {
	if !g.canUseKeys(s.Tensor, s.AsIs, s.Alone, c.Size()) {
		return nil, false, nil
	}
	if err := Agree(c, tcsfile.LoadLazily(s.Tensor, s.Limit)); err != nil {
		return nil, true, err
	}
	keys, err := Keys(c.Context(), s.Tensor, g.Partition.Ordered().Ordered)
	if err := s.agree(c, err); err != nil {
		return nil, true, err
	}
	g.Partition.Ordered().Keys = keys
	own, err = g.views(c, s)
	return own, true, err
}

// canUseKeys reports whether blocks can be views of a tensor between keys. ranks is the number of
// ranks.
func (g *Target) canUseKeys(t *tcs.Tensor, asIs, alone bool, ranks int) bool {
	return asIs && (ranks > 1 && !alone || ranks == 1 && g.Partition.Pieces() > 1) &&
		g.ViewableBetween(t)
}

// ViewableBetween reports whether blocks that are bounded by keys can be views of t. Only the
// storage order of t may be cut. Of the levels that are cut, only the outermost may be dense: in an
// inner dense level, a block stores only the positions in its box, but a view has the positions of
// whole slices.
func (g *Target) ViewableBetween(t *tcs.Tensor) bool {
	a := g.Partition.Ordered()
	if a == nil || len(g.Partition.Axes) > 1 || !Findable(t) || !t.KeysViewable(len(a.Modes)) {
		return false
	}
	for l := 1; l < len(a.Modes); l++ {
		if t.Levels[l].Form() == tensor.Full {
			return false
		}
	}
	return true
}

// shownParts returns the file parts of all blocks, which are views of t. If blocks are bounded by
// keys, the dense levels of a view also show entries of neighbouring blocks; the block's part is
// then a smaller view, of the block's own positions only. The views are valid until end is called.
func (g *Target) shownParts(t *tcs.Tensor, own map[plan.Block]*tcs.Tensor) (list []filePart,
	end func(), err error) {
	list, end = g.viewParts(own), func() {}
	a := g.Partition.Ordered()
	if a == nil {
		return list, end, nil
	}
	cut := map[plan.Block]*tcs.Tensor{}
	end = func() { tcs.CloseAll(cut) }
	for b := range own {
		level := len(a.Modes) - 1
		lo, hi := t.Interval(level)
		from, to := g.Partition.Keys(b)
		if from != nil {
			if lo, err = t.Find(from); err != nil {
				return nil, end, err
			}
		}
		if to != nil {
			if hi, err = t.Find(to); err != nil {
				return nil, end, err
			}
		}
		v, err := t.View(tcs.Block{Cut: true, Level: level, Lo: lo, Hi: max(lo, hi)})
		if err != nil {
			return nil, end, err
		}
		cut[b], list[b].view = v, v
	}
	return list, end, nil
}

// Findable reports whether keys can be found in a tensor: all its levels must be dense or
// compressed.
func Findable(t *tcs.Tensor) bool {
	return len(t.Levels) > 0 && t.Format().IsDenseOrCompressed()
}

// Keys returns what Locate returns, for a tensor that this rank has completely. It does not
// communicate.
func Keys(ctx context.Context, t *tcs.Tensor, o *place.Ordered) ([][]int64, error) {
	c, end := local.Alone(ctx)
	defer end()
	return Locate(c, t, o, t.Header.Dims)
}

// DenseKeys returns the keys that Locate would find in any tensor with these sizes, if all levels
// down to the innermost level that o cuts are dense. Sizes alone then determine the keys. Otherwise
// ok is false. kinds holds the letters of the level kinds.
func DenseKeys(kinds []tensor.Kind, o *place.Ordered, sizes []int64) (keys [][]int64, ok bool) {
	for l := range o.Modes {
		if kinds[l] != tensor.Dense {
			return nil, false
		}
	}
	c, end := local.Alone(context.Background())
	defer end()
	x := &locating{c: c, sizes: sizes}
	places := make(full, len(o.Modes))
	for l, m := range o.Modes {
		places[l] = sizes[m]
	}
	x.t = places
	keys, err := x.keys(o)
	return keys, err == nil
}

// full is a tensor of dense levels with these sizes. It implements located.
type full []int64

func (f full) Interval(l int) (lo, hi int64) {
	hi = 1
	for _, n := range f[:l+1] {
		hi *= n
	}
	return 0, hi
}

func (f full) Find(key []int64) (int64, error) {
	at := int64(0)
	for l, x := range key {
		at = at*f[l] + x
	}
	_, end := f.Interval(len(key) - 1)
	return min(at, end), nil
}

func (f full) Key(l int, p int64) ([]int64, error) {
	key := make([]int64, l+1)
	for ; l >= 0; l-- {
		key[l], p = p%f[l], p/f[l]
	}
	return key, nil
}

// Locate finds the keys between the ranges that o makes of a tensor's entries. The first and the
// last key are nil. t is this rank's range of the outermost stored mode, in the order of ranks; a
// single rank has the whole tensor. sizes holds the sizes of the tensor's modes. All levels must be
// dense or compressed. Every rank must call it.
func Locate(c comm.Comm, t *tcs.Tensor, o *place.Ordered, sizes []int64) ([][]int64, error) {
	x := &locating{c: c, t: t, sizes: sizes}
	return x.keys(o)
}

// located converts between positions and keys of a tensor; see the methods of tcs.Tensor. Locate
// needs nothing else of a tensor.
type located interface {
	Interval(level int) (lo, hi int64)
	Find(key []int64) (int64, error)
	Key(level int, position int64) ([]int64, error)
}

// locating finds the keys of Locate.
type locating struct {
	c     comm.Comm
	t     located // this rank's range
	sizes []int64
}

// keys returns the keys between the ranges of o.
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

// coordinates cuts each range between neighbouring keys into n ranges by the coordinates of the
// outermost mode. Each key must be the start of such a coordinate.
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

// positions cuts each range into ranges with equal numbers of positions of a level.
func (x *locating) positions(keys [][]int64, cut place.OrderedCut, coordinates int) ([][]int64,
	error) {
	before, err := x.before(keys, cut.Level)
	if err != nil {
		return nil, err
	}
	var ends []int64 // positions that end a new range, except the last new range in each old one
	for q := range len(keys) - 1 {
		for _, at := range place.EvenCuts(before[q+1]-before[q], cut.N)[1:cut.N] {
			ends = append(ends, before[q]+at)
		}
	}
	after, err := x.after(ends, cut.Level, coordinates)
	if err != nil {
		return nil, err
	}
	out := [][]int64{nil}
	for q := range len(keys) - 1 {
		for n := range int(cut.N) - 1 {
			key := after[q*int(cut.N-1)+n]
			if ends[q*int(cut.N-1)+n] == before[q] { // the range before is empty
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

// before returns, for each key, how many positions of a level over all ranks precede it.
func (x *locating) before(keys [][]int64, level int) ([]int64, error) {
	lo, hi := x.t.Interval(level)
	n := make([]int64, len(keys)+1) // by key
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
	if err := Agree(x.c, failed); err != nil {
		return nil, err
	}
	err := comm.Allreduce(x.c, n, comm.Sum)
	return n[:len(keys)], err
}

// after returns the successor of the last entry before each of some positions of a level. ends
// holds the positions, counted over all ranks. Each successor is a key.
func (x *locating) after(ends []int64, level, coordinates int) ([][]int64, error) {
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
	if err := Agree(x.c, failed); err != nil {
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
