// Package estimate estimates the sizes of blocks before any block exists.
//
// It uses the headers of the inputs. If nothing else is known, it assumes that entries are
// independent of one another and spread evenly over the coordinates. Each estimate has an expected
// value and an upper bound (see most.go).
//
// The path of an entry is its coordinates at the levels down to the last compressed one. A block
// stores the paths of its entries.
//
//	estimate.go  Tensor, a tensor that is cut into blocks, and the size of a block
//	share.go     densities of the projections of a tensor onto some of its modes
//	density.go   densities of expressions
//	most.go      upper bounds of random counts
package estimate

import (
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// Tensor is a tensor that will be cut into blocks.
type Tensor struct {
	Partition *partition.Partition
	Layout    tensor.Layout
	Entries   float64  // number of entries that are stored, or an estimate
	Counted   bool     // whether Entries is exact
	Pattern   *Pattern // where entries will be; may be nil

	levels []float64 // positions of each level of the whole tensor; nil if unknown
	// least widths in bytes of positions and of coordinates, by level; nil if the values alone
	// determine the widths
	minWidths [2][]uint8
	stored    *tcs.Tensor // the tensor itself, as SetLevels got it; may be nil
	whole     *plan.Size  // size of the only block, if SetWhole was called; otherwise nil
	source    *tcs.Tensor // the blocks are views of it between the partition's keys; may be nil
	sizes     []plan.Size // cache of block sizes
	hasSize   []bool      // by block: whether its size is in the cache
}

// Sparse reports whether some level is not dense.
func (t *Tensor) Sparse() bool { return !t.Layout.Format.AllDense() }

// Space returns the number of coordinates of a tensor with the given sizes of modes.
func Space(dims []int64) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(d)
	}
	return n
}

// Exact reports whether Block returns exact sizes.
func (t *Tensor) Exact() bool {
	return t.whole != nil || t.source != nil ||
		!t.Sparse() && t.Partition.Located() && !t.Partition.Guessed()
}

// SetSource declares that x is the tensor that t describes, and that the blocks of t will be views
// of x between the keys of the partition. The sizes of the blocks are then exact.
func (t *Tensor) SetSource(x *tcs.Tensor) { t.source = x }

// SetLevels replaces the estimated numbers of positions of the levels by the exact ones of x, and
// makes the widths of x's arrays the minimum widths. x must be the tensor that t describes, stored
// in the format t.Layout.Format.
func (t *Tensor) SetLevels(x *tcs.Tensor) {
	t.stored = x
	var pos, crd []uint8
	for l, lev := range x.Levels {
		t.levels = append(t.levels, float64(x.Positions(l)))
		pos, crd = append(pos, lev.Pos.Width), append(crd, lev.Crd.Width)
	}
	t.SetMinWidths(pos, crd)
}

// SetMinWidths sets the minimum widths, in bytes, of each level's pos and crd arrays.
func (t *Tensor) SetMinWidths(pos, crd []uint8) { t.minWidths = [2][]uint8{pos, crd} }

// Wide reports whether some level array has wider elements than the estimated numbers need. This is
// so if a minimum width is larger (see SetMinWidths and SetLevels).
func (t *Tensor) Wide() bool {
	plain := *t
	plain.minWidths = [2][]uint8{}
	pos, crd := t.Widths()
	least, leastCrd := plain.Widths()
	return !slices.Equal(pos, least) || !slices.Equal(crd, leastCrd)
}

// Widths returns the bytes of an element of each level's arrays. A width is 0 if the level lacks
// the array.
func (t *Tensor) Widths() (pos, crd []uint8) {
	pos, crd = make([]uint8, len(t.Layout.Format.Order)), make([]uint8, len(t.Layout.Format.Order))
	for l, m := range t.Layout.Format.Order {
		kind := t.Layout.Format.Levels[l]
		if kind.Form() == tensor.Segmented {
			pos[l] = width(t.Entries)
		}
		if kind.HasCrd() {
			crd[l] = width(float64(t.Layout.Dims[m]))
		}
		if t.minWidths[0] != nil {
			pos[l], crd[l] = max(pos[l], t.minWidths[0][l]), max(crd[l], t.minWidths[1][l])
		}
	}
	return pos, crd
}

// SetWhole declares that the partition has one block, and that x is this block. The sizes of x's
// arrays are then the size of the block.
func (t *Tensor) SetWhole(x *tcs.Tensor) {
	z := sizeOf(x)
	z.Entries = Round(t.Entries)
	t.whole = &z
}

// sizeOf returns the exact size of x's arrays.
func sizeOf(x *tcs.Tensor) plan.Size {
	z := plan.Size{Entries: x.Vals.Len}
	for _, lev := range x.Levels {
		z.Add(lev.Pos.Len, int64(lev.Pos.Width))
		z.Add(lev.Crd.Len, int64(lev.Crd.Width))
	}
	z.Add(x.Vals.Len, int64(x.Vals.Width))
	return z
}

// As returns a description of the same tensor in format f. It does not keep known numbers of
// positions, because they belong to the levels of the old format. If the tensor exists already, the
// new tensor has an entry for each value that the old format stores. This includes zeros at
// coordinates of dense levels below the last compressed one.
func (t *Tensor) As(f tensor.Format) *Tensor {
	as := &Tensor{Partition: t.Partition,
		Layout:  tensor.Layout{Dims: t.Layout.Dims, Type: t.Layout.Type, Format: f},
		Entries: t.Entries, Counted: t.Counted, Pattern: t.Pattern}
	inner := t.Layout.Format.Order[t.lastCrd()+1:]
	if t.Pattern == nil && t.Sparse() && len(inner) > 0 {
		as.Pattern = &Pattern{Share: t.Share, Filled: make([]bool, len(t.Layout.Dims))}
		for _, m := range inner {
			as.Pattern.Filled[m] = true
		}
		as.Entries, as.Counted = Space(t.Layout.Dims)*t.Share(t.Layout.Format.Order), false
	}
	return as
}

// Over returns the description of the same tensor, but divided into blocks by another partition.
func (t *Tensor) Over(part *partition.Partition) *Tensor {
	over := *t
	// The cached sizes belong to the old blocks.
	over.Partition, over.sizes, over.hasSize = part, nil, nil
	return &over
}

// LevelSizes returns the size of each level's mode.
func (t *Tensor) LevelSizes() []int64 {
	sizes := make([]int64, len(t.Layout.Format.Order))
	for l, m := range t.Layout.Format.Order {
		sizes[l] = t.Layout.Dims[m]
	}
	return sizes
}

// Positions returns the estimated number of positions of each level of the whole tensor.
func (t *Tensor) Positions() []int64 {
	list, parents := make([]int64, len(t.Layout.Format.Order)), 1.0
	for l, m := range t.Layout.Format.Order {
		kind := t.Layout.Format.Levels[l]
		switch {
		case t.levels != nil:
			parents = t.levels[l]
		case kind.Form() == tensor.Segmented && !kind.IsUnique():
			parents = t.Entries
		case kind.Form() == tensor.Segmented:
			parents = t.distinct(l, t.wholeAt(l), t.Entries).about
		case kind.Form() != tensor.Single:
			parents *= float64(t.Layout.Dims[m])
		}
		list[l] = Round(parents)
	}
	return list
}

// Segments returns the statistics of each level's segments: the number of empty ones and the length
// of the longest. It returns nil if they are unknown.
func (t *Tensor) Segments() []tcs.LevelStats {
	if t.stored == nil {
		return nil
	}
	st, ok := tcsfile.Stats(t.stored)
	if !ok {
		st = t.stored.Statistics()
	}
	return st.Levels
}

// Bytes returns the estimated size of the whole tensor in one block.
func (t *Tensor) Bytes() int64 {
	box := make([][2]int64, len(t.Layout.Dims))
	for m, d := range t.Layout.Dims {
		box[m] = [2]int64{0, d}
	}
	return t.estimate(box, nil).Bytes
}

// Box returns the range of each mode that block b covers.
func (t *Tensor) Box(b plan.Block) [][2]int64 { return t.Partition.Box(b, t.Layout.Dims) }

// Block returns the size of block b. The method is a plan.Sizes; it caches its results.
func (t *Tensor) Block(b plan.Block) plan.Size {
	if t.whole != nil {
		return *t.whole
	}
	if t.sizes == nil {
		n := t.Partition.Pieces()
		t.sizes, t.hasSize = make([]plan.Size, n), make([]bool, n)
	}
	if !t.hasSize[b] {
		t.sizes[b], t.hasSize[b] = t.size(b), true
	}
	return t.sizes[b]
}

// size returns the size of block b. If the block can be made as a view of the source, the size is
// exact. Otherwise it is an estimate.
func (t *Tensor) size(b plan.Block) plan.Size {
	box := t.Box(b)
	if t.source != nil {
		from, to := t.Partition.Keys(b)
		if v, err := t.source.View(tcs.Block{Box: box, From: from, To: to}); err == nil {
			defer v.Close()
			return sizeOf(v)
		}
	}
	return t.estimate(box, t.Partition.Ordered())
}

// In estimates the size of the tensor's entries in a box, as if they were a block of their own. It
// assumes that the entries are spread evenly.
func (t *Tensor) In(box [][2]int64) plan.Size { return t.estimate(box, nil) }

// shares estimates how much of the tensor belongs to the block in a box. stored is the axis that
// cuts the entries, in storage order, into equal chunks. It is nil if there is none.
//
// The result part is a function: part(m) is the fraction of the coordinates of mode m that belong
// to the block. share is the product of these fractions over all modes. paths is their product over
// the modes of the levels down to the last level that is not dense. If the format repeats
// coordinates, paths is equal to share.
func (t *Tensor) shares(box [][2]int64, stored *partition.Axis) (part func(m int) float64, share,
	paths float64) {
	part = func(m int) float64 {
		d := float64(t.Layout.Dims[m])
		switch {
		case stored != nil && m == stored.Modes[0]:
			return 1 / float64(stored.Ranges())
		case d == 0 || stored != nil && slices.Contains(stored.Modes, m):
			return 1
		}
		return float64(box[m][1]-box[m][0]) / d
	}
	share = 1
	for m := range t.Layout.Dims {
		share *= part(m)
	}
	if paths = share; !t.Layout.Format.Repeats() {
		// If a dense level below the last compressed one is cut, blocks that differ in that level
		// alone all store the same paths.
		paths = 1
		for _, m := range t.Layout.Format.Order[:t.lastCrd()+1] {
			paths *= part(m)
		}
	}
	return part, share, paths
}

// Records returns an upper bound of the number of records that block b is assembled from. listed is
// the number of entries in the input.
//
// If roomed is true, the bound includes zeros. Blocks that differ only in dense inner levels must
// have room for the same paths. For each entry of such a block, every other one of these blocks
// therefore gets a record with value zero.
func (t *Tensor) Records(b plan.Block, listed float64, roomed bool) int64 {
	_, share, paths := t.shares(t.Box(b), t.Partition.Ordered())
	most := math.Inf(1)
	if t.Counted || !t.Sparse() {
		most = listed
	}
	n := count(listed*share, share, most).most
	if roomed {
		n += count(listed*paths, paths, most).most
	}
	return ceil(n)
}

// estimate returns the estimated size of a block in a box. stored is the axis that cuts the entries
// in storage order into equal chunks; it may be nil.
func (t *Tensor) estimate(box [][2]int64, stored *partition.Axis) plan.Size {
	extent := func(m int) float64 { return float64(box[m][1] - box[m][0]) }
	part, share, paths := t.shares(box, stored)
	together := 1.0 // number of coordinates at which entries exist together or not at all
	for m := range t.Layout.Dims {
		if t.filled(m) {
			together *= max(extent(m), 1)
		}
	}
	entries := count(t.Entries*share/together, share, t.most()).times(together)
	below := math.Inf(1) // upper bound of the entries whose paths the block stores
	if t.Pattern == nil {
		below = count(t.Entries*paths, paths, t.most()).most
	}
	var z sizer
	pos, crd := t.Widths()
	parents := counted{1, 1}
	c := cut{part: part, outer: 1, share: paths, places: 1}
	for l, m := range t.Layout.Format.Order {
		c.outer *= part(m)
		c.places *= t.maxExtent(m, extent(m))
		n := counted{parents.about * extent(m), parents.most * t.maxExtent(m, extent(m))}
		kind := t.Layout.Format.Levels[l]
		switch kind.Form() {
		case tensor.Segmented:
			places := n.most
			if n = entries; kind.IsUnique() {
				n = t.distinct(l, c, t.Entries*paths)
				n.most = max(n.about, min(n.most, places, below))
			}
			z.add(counted{parents.about + 1, parents.most + 1}, int64(pos[l]))
		case tensor.Single:
			n = parents
		}
		if kind.HasCrd() {
			z.add(n, int64(crd[l]))
		}
		parents = n
	}
	z.add(parents, int64(t.Layout.Type.Size()))
	z.size.Entries = Round(parents.about)
	z.size.MoreEntries = max(ceil(parents.most)-z.size.Entries, 0)
	return z.size
}

// maxExtent returns an upper bound of the extent of a block in mode m. expected is the expected
// extent. The actual extent may be larger if the block is a chunk of entries whose bounds are
// guessed. By Chernoff's bound, it exceeds the result with a probability of at most
// excessProbability.
func (t *Tensor) maxExtent(m int, expected float64) float64 {
	a := t.Partition.GuessedIn(m)
	if a == nil {
		return expected
	}
	chunk, tail := a.Entries/float64(a.Ranges()), -math.Log(excessProbability)
	root := math.Sqrt(tail/2) + math.Sqrt(tail/2+chunk)
	further := root * root / max(chunk, excessProbability)
	return max(expected, min(max(expected, 1)*further, float64(t.Layout.Dims[m])))
}

// Drift bounds the errors that arise because the bounds of chunks are guessed. A chunk may have
// more entries than estimated: share is the largest excess, as a fraction of the chunk's entries,
// and is at most 1. A chunk may also overlap several blocks: blocks is the largest number of these
// blocks. Both results are 0 if no bounds are guessed.
func (t *Tensor) Drift() (share float64, blocks int64) {
	for m := range t.Layout.Dims {
		a := t.Partition.GuessedIn(m)
		if a == nil || a.Ranges() == 1 {
			continue
		}
		n := float64(a.Ranges())
		half := count(a.Entries/2, 0.5, a.Entries)
		chunks := n
		if a.Entries > 0 {
			chunks = min(n, 2*(half.most-half.about)*n/a.Entries)
		}
		return min(chunks, 1), t.Partition.Pieces() / a.Ranges() * ceil(min(n, chunks+2))
	}
	return 0, 0
}

// distinct estimates the number of positions of level l in a block. This is the number of different
// prefixes, down to level l, of the coordinates of the block's entries. c describes the block, and
// entries is the expected number of entries whose paths the block stores.
func (t *Tensor) distinct(l int, c cut, entries float64) counted {
	if t.Pattern != nil {
		return t.fromPattern(l, c)
	}
	if l == len(t.Layout.Format.Levels)-1 && t.levels == nil {
		return count(entries, c.share, t.most())
	}
	if t.levels != nil {
		n := t.levels[l]
		if n == 0 {
			return counted{}
		}
		if c.share == c.outer {
			return count(n*c.outer, c.outer, n)
		}
		// Each entry of a prefix is in the block with probability share/outer.
		about := n * c.outer * -math.Expm1(t.Entries/n*math.Log1p(-min(c.share/c.outer, 1-1e-12)))
		return count(about, about/n, n)
	}
	prefixes := c.outer
	for _, m := range t.Layout.Format.Order[:l+1] {
		prefixes *= float64(t.Layout.Dims[m])
	}
	if prefixes == 0 {
		return counted{}
	}
	return count(prefixes*-math.Expm1(-entries/prefixes), 0, prefixes)
}

// Fixed returns the number of bytes of block b that do not depend on the entries of b. For a dense
// tensor, these are the bytes of the values. For any other tensor, these are the bytes of the pos
// array of the first level with stored coordinates, if each element has 4 bytes.
func (t *Tensor) Fixed(b plan.Block) float64 {
	box, p := t.Box(b), 1.0
	for l, m := range t.Layout.Format.Order {
		if t.Layout.Format.Levels[l].HasCrd() {
			return 4 * (p + 1)
		}
		p *= float64(box[m][1] - box[m][0])
	}
	return p * float64(t.Layout.Type.Size())
}

// width returns how many bytes a position or a coordinate that is at most n occupies.
func width(n float64) uint8 {
	if n <= math.MaxInt32 {
		return 4
	}
	return 8
}

// Round returns the nearest integer, at most 2^62.
func Round(x float64) int64 {
	if x >= 1<<62 {
		return 1 << 62
	}
	return int64(math.Round(x))
}
