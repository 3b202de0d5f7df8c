// Package estimate tells sizes of blocks before there are any: from what the heads of
// inputs say, and where nothing else is known as if entries were spread evenly over the
// coordinates, and independent of one another.
//
//	estimate.go  a tensor that is to be cut, and the size of a block of it
//	share.go     at which coordinates of some modes it has an entry, also of one that is not there yet
//	density.go   where expressions have entries
//	most.go      how many more there may be than are expected
package estimate

import (
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// Tensor is a tensor that is to be cut into blocks.
type Tensor struct {
	Partition *partition.Partition
	Layout    tensor.Layout
	Entries   float64
	Counted   bool     // Entries is no estimate
	Pattern   *Pattern // nil of what is there already

	levels []float64 // positions of each level of the whole tensor; nil where unknown
	// the least bytes of positions and of coordinates, by level; nil where nothing asks for more than
	// they need
	wide   [2][]uint8
	stored *tcs.Tensor // which tells of levels
	whole  *plan.Size  // of the whole tensor in one block, where it is stored so
	source *tcs.Tensor // of which blocks are views between keys
	known  []plan.Size // by block, once it was estimated: entry k of found says so of block k
	found  []bool
}

// Sparse tells whether some level is not dense.
func (t *Tensor) Sparse() bool { return !t.Layout.Format.AllDense() }

// Space is the number of coordinates of some sizes.
func Space(dims []int64) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(d)
	}
	return n
}

// Exact tells whether the sizes of blocks are no estimates.
func (t *Tensor) Exact() bool {
	return t.whole != nil || t.source != nil ||
		!t.Sparse() && t.Partition.Located() && !t.Partition.Guessed()
}

// Shown says that blocks are views of x, the tensor itself, between the keys of the partition.
func (t *Tensor) Shown(x *tcs.Tensor) { t.source = x }

// Stored takes over what x, the tensor itself in its format, tells of its levels.
func (t *Tensor) Stored(x *tcs.Tensor) {
	t.stored = x
	var pos, crd []uint8
	for l, lev := range x.Levels {
		t.levels = append(t.levels, float64(x.Positions(l)))
		pos, crd = append(pos, lev.Pos.Width), append(crd, lev.Crd.Width)
	}
	t.Widen(pos, crd)
}

// Widen says that positions and coordinates of levels have so many bytes at least.
func (t *Tensor) Widen(pos, crd []uint8) { t.wide = [2][]uint8{pos, crd} }

// Wide tells whether some array has wider elements than its numbers need.
func (t *Tensor) Wide() bool {
	plain := *t
	plain.wide = [2][]uint8{}
	pos, crd := t.Widths()
	least, leastCrd := plain.Widths()
	return !slices.Equal(pos, least) || !slices.Equal(crd, leastCrd)
}

// Widths are the bytes of the elements of each level's arrays, 0 of one that it lacks.
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
		if t.wide[0] != nil {
			pos[l], crd[l] = max(pos[l], t.wide[0][l]), max(crd[l], t.wide[1][l])
		}
	}
	return pos, crd
}

// Uncut says that the one block is x itself.
func (t *Tensor) Uncut(x *tcs.Tensor) {
	z := sizeOf(x)
	z.Entries = Round(t.Entries)
	t.whole = &z
}

// sizeOf is the size of a tensor's arrays.
func sizeOf(x *tcs.Tensor) plan.Size {
	z := plan.Size{Entries: x.Vals.Len}
	for _, lev := range x.Levels {
		z.Add(lev.Pos.Len, int64(lev.Pos.Width))
		z.Add(lev.Crd.Len, int64(lev.Crd.Width))
	}
	z.Add(x.Vals.Len, int64(x.Vals.Width))
	return z
}

// As is the same tensor, stored in another format.
func (t *Tensor) As(f tensor.Format) *Tensor {
	return &Tensor{Partition: t.Partition,
		Layout:  tensor.Layout{Dims: t.Layout.Dims, Type: t.Layout.Type, Format: f},
		Entries: t.Entries, Counted: t.Counted, Pattern: t.Pattern}
}

// Over returns the same tensor in the blocks of another partition.
func (t *Tensor) Over(part *partition.Partition) *Tensor {
	over := *t
	// The sizes that t knows are of its own blocks.
	over.Partition, over.known, over.found = part, nil, nil
	return &over
}

// LevelSizes are the sizes of the levels' modes.
func (t *Tensor) LevelSizes() []int64 {
	sizes := make([]int64, len(t.Layout.Format.Order))
	for l, m := range t.Layout.Format.Order {
		sizes[l] = t.Layout.Dims[m]
	}
	return sizes
}

// Positions is about how many positions each level of the whole tensor has.
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
			parents = t.distinct(l, t.uncut(l), t.Entries).about
		case kind.Form() != tensor.Single:
			parents *= float64(t.Layout.Dims[m])
		}
		list[l] = Round(parents)
	}
	return list
}

// Segments is what is known of each level's, of its parents without children and of the most
// children of one; nil where nothing is.
func (t *Tensor) Segments() []tcs.LevelStats {
	if t.stored == nil {
		return nil
	}
	st, ok := t.stored.FileStats()
	if !ok {
		st = t.stored.Statistics()
	}
	return st.Levels
}

// Bytes is about what the whole tensor takes.
func (t *Tensor) Bytes() int64 {
	box := make([][2]int64, len(t.Layout.Dims))
	for m, d := range t.Layout.Dims {
		box[m] = [2]int64{0, d}
	}
	return t.estimate(box, nil).Bytes
}

// Box is the range of each mode that block b has.
func (t *Tensor) Box(b plan.Block) [][2]int64 { return t.Partition.Box(b, t.Layout.Dims) }

// Block is the size of block b: plan.Sizes.
func (t *Tensor) Block(b plan.Block) plan.Size {
	if t.whole != nil {
		return *t.whole
	}
	if t.known == nil {
		n := t.Partition.Pieces()
		t.known, t.found = make([]plan.Size, n), make([]bool, n)
	}
	if !t.found[b] {
		t.known[b], t.found[b] = t.size(b), true
	}
	return t.known[b]
}

// size is that of block b: of a view where blocks are views that can be made, else about.
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

// In is the size of what a block has in a box of coordinates, of entries that are spread evenly.
func (t *Tensor) In(box [][2]int64) plan.Size { return t.estimate(box, nil) }

// shares are the shares of the coordinates of a mode, and of all, that a block in a box has, and of
// those whose entries make paths down to its last compressed level; stored, if it is not nil, cuts
// the entries evenly.
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
		// Where dense levels below are cut, each block has the paths of those beside it too.
		paths = 1
		for _, m := range t.Layout.Format.Order[:t.lastCrd()+1] {
			paths *= part(m)
		}
	}
	return part, share, paths
}

// Records is the most entries, of an input that lists so many, that come to block b; roomed says
// that each entry also makes room, as a zero, in the blocks beside its own that have its path.
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

// estimate is the size of a block in a box, of which stored, if it is not nil, cuts the entries
// evenly.
func (t *Tensor) estimate(box [][2]int64, stored *partition.Axis) plan.Size {
	extent := func(m int) float64 { return float64(box[m][1] - box[m][0]) }
	part, share, paths := t.shares(box, stored)
	together := 1.0 // coordinates that have entries all or none
	for m := range t.Layout.Dims {
		if t.filled(m) {
			together *= max(extent(m), 1)
		}
	}
	entries := count(t.Entries*share/together, share, t.most()).times(together)
	below := math.Inf(1) // entries whose paths the block has
	if t.Pattern == nil {
		below = count(t.Entries*paths, paths, t.most()).most
	}
	var z sizer
	pos, crd := t.Widths()
	parents := counted{1, 1}
	c := cut{part: part, outer: 1, share: paths, places: 1}
	for l, m := range t.Layout.Format.Order {
		c.outer *= part(m)
		c.places *= t.reach(m, extent(m))
		n := counted{parents.about * extent(m), parents.most * t.reach(m, extent(m))}
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

// reach is the most coordinates of mode m that a block has, of about so many: more where they are
// those of a chunk of entries that is located by a guess. Among the coordinates of a chunk that
// reaches so much further there are rarely as few entries as it has, by Chernoff's bound.
func (t *Tensor) reach(m int, about float64) float64 {
	a := t.Partition.GuessedIn(m)
	if a == nil {
		return about
	}
	chunk, tail := a.Entries/float64(a.Ranges()), -math.Log(rarely)
	root := math.Sqrt(tail/2) + math.Sqrt(tail/2+chunk)
	further := root * root / max(chunk, rarely)
	return max(about, min(max(about, 1)*further, float64(t.Layout.Dims[m])))
}

// Drift is how far from where they are guessed chunks may begin, where they do not lie at equal
// distances: by which share of a chunk's entries at both ends together, of all entries at most, and
// by how many blocks.
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

// distinct is how many positions level l has in a block with paths to about that many
// entries: prefixes of coordinates with an entry below.
func (t *Tensor) distinct(l int, c cut, entries float64) counted {
	if t.Pattern != nil {
		return t.foreseen(l, c)
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
		// Of a prefix's entries each is in the block with probability share/outer.
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

// Fixed is what block b takes whatever its entries are: the values of an all-dense one,
// else the positions below its outer dense levels.
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

// width is the bytes of a position or coordinate up to n.
func width(n float64) uint8 {
	if n <= math.MaxInt32 {
		return 4
	}
	return 8
}

// Round is the nearest whole number, at most 2^62.
func Round(x float64) int64 {
	if x >= 1<<62 {
		return 1 << 62
	}
	return int64(math.Round(x))
}
