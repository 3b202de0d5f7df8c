package load

import (
	"math"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// Input is what is known of a tensor's entries before they are read.
type Input struct {
	Tensor   *tcs.Tensor // Source's; its head is enough; nil for entries that come in a stream
	AsIs     bool        // Source's
	InPlace  bool        // blocks are filled where they are, and nothing travels
	Distinct bool        // no coordinate comes twice
	Alone    bool        // Source's
	Mapped   bool        // Tensor is a file whose pages take no memory of a rank's
	First    bool        // entries in a stream come of rank 0 alone
	Entries  int64
	// Records is the most entries that come to a block, with zeros that make room in it where its
	// tensor has such (roomed); nil: as many as the block has at most.
	Records func(b plan.Block, roomed bool) int64
}

// Cost is what loading a tensor takes at each rank.
type Cost struct {
	Kept    []int64 // by its blocks
	Peak    []int64 // by those and what is on its way, at most
	Buffers int64   // of Peak, what does not grow with blocks
}

// Cost is what Tensor or Scatter take over so many ranks for blocks of those sizes, with that
// limit of memory (0: none).
func (g *Target) Cost(in Input, sizes plan.Sizes, ranks int, limit int64) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks)}
	inflated := int64(0)
	if in.Tensor != nil {
		inflated = in.Tensor.Decompressed()
	}
	var way int64
	way, c.Buffers = g.forecast(in, ranks, limit)
	marks := make([]int64, ranks)
	roomed := way == collecting && newSlots(g, g.split()) != nil
	builds := make([][]coo.BlockCost, ranks)
	for b := range plan.Block(g.Partition.Pieces()) {
		rank, z := g.Partition.OwnerOf(b), sizes(b)
		bytes := z.Memory()
		if (in.Mapped || inflated > 0) && g.Partition.Ordered() == nil && g.shown(in, ranks) {
			bytes = 0 // of views between keys, ends of segments are copied
		}
		c.Kept[rank] += bytes
		if in.Tensor == nil && tcs.AllDense(g.Spec.Kinds) {
			marks[rank] += z.Most()/8 + 8 + tcs.Align // a bit for each place that is taken: coo.Once
		}
		if way == collecting {
			builds[rank] = append(builds[rank],
				coo.BlockCost{Entries: records(in, roomed, sizes, b), Bytes: bytes,
					Dense: tcs.AllDense(g.Spec.Kinds) && g.Spec.Duplicates != coo.Refuse})
		}
	}
	lanes := int64(ranks)
	if in.First || in.Alone {
		lanes = 1
	}
	entries := coo.NewSortCost(g.levelSizes(), g.Spec.Type, g.Cfg.Threads)
	for rank := range ranks {
		c.Peak[rank] = c.Kept[rank]
		if way != shared {
			c.Peak[rank] += marks[rank]
		}
		if way == assembling {
			c.Peak[0] += entries.AssembleBytes(records(in, roomed, sizes, 0), c.Kept[0], limit)
		}
		if way == collecting {
			c.Peak[rank] = max(c.Peak[rank], entries.BuildBytes(builds[rank], lanes, limit))
		}
		c.Peak[rank] += c.Buffers
		if rank == 0 || !in.Alone {
			c.Kept[rank], c.Peak[rank] = c.Kept[rank]+inflated, c.Peak[rank]+inflated
		}
	}
	return c
}

// Resting is the cost of blocks that are there.
func Resting(part *partition.Partition, sizes plan.Sizes, ranks int) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks)}
	for b := range plan.Block(part.Pieces()) {
		c.Kept[part.OwnerOf(b)] += sizes(b).Memory()
	}
	copy(c.Peak, c.Kept)
	return c
}

// records is the most entries that come to a block.
func records(in Input, roomed bool, sizes plan.Sizes, b plan.Block) int64 {
	if in.Records == nil {
		return sizes(b).Most()
	}
	return in.Records(b, roomed)
}

// HeldCost is what Held takes over so many ranks beside the blocks that there are, for blocks of
// those sizes; moved is false where it shows what there is. Of in Entries and Records are read.
func (g *Target) HeldCost(from *store.Blocks, asIs bool, in Input, sizes plan.Sizes, ranks int,
	limit int64) (c Cost, moved bool) {
	switch {
	case asIs && g.Same(from):
		return Cost{}, false
	case !asIs || !tcs.AllDense(from.Kinds):
		return g.Cost(Input{Entries: in.Entries, Records: in.Records}, sizes, ranks, limit), true
	}
	c = g.Cost(Input{InPlace: true}, sizes, ranks, limit)
	sent, largest, came := make([]int64, ranks), make([]int64, ranks), make([]int64, ranks)
	g.parts(from, func(z plan.Size, from, to int) {
		n := z.Memory()
		sent[from], largest[from], came[to] = sent[from]+n, max(largest[from], n), max(came[to], n)
	})
	for rank := range ranks {
		c.Peak[rank] += min(sent[rank], aheadBytes+largest[rank]) + came[rank]
	}
	return c, true
}

// Betweens tells whether Between makes the blocks, over so many ranks.
func (g *Target) Betweens(in Input, ranks int) bool {
	return in.Tensor != nil && g.between(in.Tensor, in.AsIs, in.Alone, ranks)
}

// Least is what the blocks of each of so many ranks take at least, of what each takes whatever its
// entries are: nothing where they show the tensor.
func (g *Target) Least(in Input, fixed func(plan.Block) float64, ranks int) []float64 {
	least := make([]float64, ranks)
	if in.Tensor != nil && in.AsIs && g.Viewable(in.Tensor) {
		return least
	}
	for b := range plan.Block(g.Partition.Pieces()) {
		least[g.Partition.OwnerOf(b)] += fixed(b)
	}
	return least
}

// forecast is the way in which blocks will be made, and what its buffers take at most.
func (g *Target) forecast(in Input, ranks int, limit int64) (way, bytes int64) {
	if in.InPlace || g.shown(in, ranks) {
		return shared, 0
	}
	if one := ranks == 1 && g.Partition.Pieces() == 1; one && tcs.AllDense(g.Spec.Kinds) &&
		g.Spec.Duplicates != coo.Refuse {
		return shared, 0
	} else if one {
		return assembling, 0
	}
	free := limit
	if free <= 0 {
		free = math.MaxInt64
	}
	bytes = buffers(ranks, g.Partition.Pieces(), g.Partition.Order, g.Spec.Type, free)
	roomed := newSlots(g, g.split())
	if ranks > 1 {
		bytes += g.travelling(in.Entries, roomed != nil, free)
	}
	var entries coo.Stream
	if in.Tensor != nil {
		entries = coo.FromTensor(in.Tensor, coo.ZerosFor(in.Tensor, g.Spec.Kinds, g.Spec.Modes, false))
	}
	way = g.way(entries, roomed)
	// where a coordinate does come twice
	if way == joining && !tcs.KeepsRepeats(g.Spec.Kinds) &&
		tcs.KeepsRepeats(kindsOf(entries.(coo.Tensored))) {
		return collecting, bytes
	}
	if way != spreading || in.Distinct {
		return way, bytes
	}
	if g.placing(entries) == coo.Once { // where a coordinate does come twice, all are collected
		way = collecting
	}
	return way, bytes
}

// travelling is what a rank sends and receives at a time at most, of so many entries over all
// ranks: in a round no more than sendRoom, the last batch and what it stages, and from as many
// ranks as there are inboxRooms.
func (g *Target) travelling(entries int64, roomed bool, free int64) int64 {
	modes, typ := g.Partition.Order, g.Spec.Type
	entry := groupBytes + recordBytes(modes, typ)
	blocks := g.Partition.Pieces()
	round := sendRoom(free) + entry*(blocks*staged(blocks, recordBytes(modes, typ), free)+coo.BatchSize)
	if roomed { // each may make room in each block
		entries *= min(1+blocks, math.MaxInt64/(4*entry*max(entries, 1)))
	}
	// Of a small tensor each entry is a group at most, and nothing takes a line.
	return min((1+inboxRooms)*round, 2*max(entry*entries, tcs.Align))
}

// Of blocks that take no memory but their own, and of the one block of one rank.
const shared, assembling = -1, -2

// levelSizes are the sizes of the levels' modes.
func (g *Target) levelSizes() []int64 {
	sizes := make([]int64, len(g.Spec.Modes))
	for l, m := range g.Spec.Modes {
		sizes[l] = g.Spec.Dims[m]
	}
	return sizes
}

// shown tells whether blocks are views of the tensor.
func (g *Target) shown(in Input, ranks int) bool {
	return in.Tensor != nil && in.AsIs && !(in.Alone && ranks > 1) &&
		(g.Viewable(in.Tensor) || g.ViewableBetween(in.Tensor))
}
