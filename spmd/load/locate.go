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

// Between makes this rank's blocks as views of a tensor that is cut only along its storage order.
// It first computes the keys that separate the blocks, and stores the keys in the partition. A key
// is a tuple of coordinates. If canUseKeys returns false, Between makes no blocks, and ok is false.
// Every rank must call it. The caller closes the blocks, which retain the memory of the tensor.
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

// canUseKeys reports whether each block can be a view of tensor t between two keys. It returns
// false if there is one rank with one block, because the block is then the whole tensor. asIs says
// that the blocks have the format and type of t. alone says that only rank 0 has t. ranks is the
// number of ranks.
func (g *Target) canUseKeys(t *tcs.Tensor, asIs, alone bool, ranks int) bool {
	return asIs && (ranks > 1 && !alone || ranks == 1 && g.Partition.Pieces() > 1) &&
		g.ViewableBetween(t)
}

// ViewableBetween reports whether blocks that are bounded by keys can be views of t. Only the
// storage order of t may be cut. Of the levels that are cut, only the outermost may be dense. In an
// inner dense level, a view has the positions of whole slices, but a block must store only the
// positions in its box.
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

// shownParts returns the part of the file of t that each block covers. own holds this rank's
// blocks, which are views of t. If the blocks are bounded by keys, the dense levels of these views
// include positions of neighbouring blocks. For each of this rank's blocks, the result then has a
// smaller view, which contains only the block's own positions. The smaller views are valid until
// release is called.
func (g *Target) shownParts(t *tcs.Tensor, own map[plan.Block]*tcs.Tensor) (list []filePart,
	release func(), err error) {
	list, release = g.viewParts(own), func() {}
	a := g.Partition.Ordered()
	if a == nil {
		return list, release, nil
	}
	cut := map[plan.Block]*tcs.Tensor{}
	release = func() { tcs.CloseAll(cut) }
	for b := range own {
		level := len(a.Modes) - 1
		lo, hi := t.Interval(level)
		from, to := g.Partition.Keys(b)
		if from != nil {
			if lo, err = t.Find(from); err != nil {
				return nil, release, err
			}
		}
		if to != nil {
			if hi, err = t.Find(to); err != nil {
				return nil, release, err
			}
		}
		v, err := t.View(tcs.Block{Cut: true, Level: level, Lo: lo, Hi: max(lo, hi)})
		if err != nil {
			return nil, release, err
		}
		cut[b], list[b].view = v, v
	}
	return list, release, nil
}

// Findable reports whether keys can be found in a tensor: it must have a level, and all its levels
// must be dense or compressed.
func Findable(t *tcs.Tensor) bool {
	return len(t.Levels) > 0 && t.Format().IsDenseOrCompressed()
}

// Keys returns the keys that separate the ranges into which o divides the entries of tensor t. It
// returns the same keys as Locate, but needs no communication, because this rank must have the
// whole tensor.
func Keys(ctx context.Context, t *tcs.Tensor, o *place.Ordered) ([][]int64, error) {
	c, end := local.Alone(ctx)
	defer end()
	return Locate(c, t, o, t.Header.Dims)
}

// DenseKeys computes the keys that Locate would find in a tensor with these sizes. It needs only
// the sizes, but all levels down to the innermost level that o cuts must be dense. If one of these
// levels is not dense, ok is false. kinds holds the kinds of the levels.
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

// Locate finds the keys that separate the ranges into which o divides the entries of a tensor. A
// key is a tuple of coordinates. The first and the last key are nil.
//
// t is this rank's part of the tensor, which is a range of coordinates of the outermost stored
// mode. The parts of the ranks follow one another in the order of ranks. A single rank has the
// whole tensor. sizes holds the sizes of the tensor's modes. All levels must be dense or
// compressed. Every rank must call it.
func Locate(c comm.Comm, t *tcs.Tensor, o *place.Ordered, sizes []int64) ([][]int64, error) {
	x := &locating{c: c, t: t, sizes: sizes}
	return x.keys(o)
}

// located has the methods of tcs.Tensor that Locate needs. They convert between positions and keys
// of a tensor.
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

// keys returns the keys that separate the ranges into which o divides the tensor's entries. The
// first and the last key are nil. Every rank must call it.
func (x *locating) keys(o *place.Ordered) (keys [][]int64, err error) {
	keys = [][]int64{nil, nil}
	for _, cut := range o.Cuts {
		if cut.Level < 0 {
			keys = x.cutByCoordinates(keys, cut.N, o)
			continue
		}
		if keys, err = x.cutByPositions(keys, cut, len(o.Modes)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// cutByCoordinates divides each range between neighbouring keys into n smaller ranges. The smaller
// ranges have about equal numbers of coordinates of the outermost mode. cutByCoordinates returns
// all keys, the old ones and the new ones. Each given key must be nil, or have the coordinate 0 in
// all modes except the outermost. o describes the ranges and their modes.
func (x *locating) cutByCoordinates(keys [][]int64, n int64, o *place.Ordered) [][]int64 {
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

// cutByPositions divides each range between neighbouring keys into cut.N smaller ranges. The
// smaller ranges have about equal numbers of positions of level cut.Level. cutByPositions returns
// all keys, the old ones and the new ones. coordinates is the number of coordinates in a key. Every
// rank must call it.
func (x *locating) cutByPositions(keys [][]int64, cut place.OrderedCut, coordinates int) ([][]int64,
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
	after, err := x.keysAfter(ends, cut.Level, coordinates)
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

// before returns, for each key, the number of positions of the given level that come before the
// key. The number is the sum over all ranks. Every rank must call before.
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

// keysAfter converts positions of a level to keys. ends holds the positions, which are counted over
// all ranks. For each position, keysAfter returns the smallest key that comes after all entries
// before the position. coordinates is the number of coordinates in a key. Every rank must call
// keysAfter.
func (x *locating) keysAfter(ends []int64, level, coordinates int) ([][]int64, error) {
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
