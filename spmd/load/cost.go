package load

import (
	"math"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// Input describes a tensor's entries before they are read.
type Input struct {
	Tensor   *tcs.Tensor // Source.Tensor; its header suffices; nil if entries come in a stream
	AsIs     bool        // Source.AsIs
	InPlace  bool        // blocks are filled in place, and nothing is sent
	Distinct bool        // no coordinate repeats
	Alone    bool        // Source.Alone
	Mapped   bool        // Tensor is a mapped file, whose pages do not count as a rank's memory
	First    bool        // entries of a stream all come from rank 0
	Entries  int64
	// Records returns the largest number of entries that a block receives. If roomed is true,
	// zeros that make room in the block count too (see slots). Records may be nil; a block then
	// receives no more entries than it stores.
	Records func(b plan.Block, roomed bool) int64
}

// Cost is the memory in bytes that loading a tensor needs, by rank.
type Cost struct {
	Kept    []int64 // bytes of the rank's blocks
	Peak    []int64 // maximum number of bytes, including entries that are being sent
	Buffers int64   // bytes of Peak that do not depend on the size of the blocks
}

// Cost estimates the memory of Tensor or Scatter for blocks of the given sizes. ranks is the number
// of ranks. limit is the memory limit in bytes, or 0 if there is none.
func (g *Target) Cost(in Input, sizes plan.Sizes, ranks int, limit int64) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks)}
	inflated := int64(0)
	if in.Tensor != nil {
		inflated = tcsfile.Decompressed(in.Tensor)
	}
	var way int64
	way, c.Buffers = g.forecast(in, ranks, limit)
	marks := make([]int64, ranks)
	roomed := way == collecting && newSlots(g, g.split()) != nil
	builds := make([][]coo.BlockCost, ranks)
	for b := range plan.Block(g.Partition.Pieces()) {
		rank, z := g.Partition.OwnerOf(b), sizes(b)
		bytes := z.Memory()
		if (in.Mapped || inflated > 0) && g.Partition.Ordered() == nil && g.areViews(in, ranks) {
			bytes = 0 // for views between keys, only the ends of segments are copied
		}
		c.Kept[rank] += bytes
		if in.Tensor == nil && g.Spec.Format.AllDense() {
			marks[rank] += z.Most()/8 + 8 + tcs.Align // coo.Once needs one bit for each position
		}
		if way == collecting {
			builds[rank] = append(builds[rank],
				coo.BlockCost{Entries: records(in, roomed, sizes, b), Bytes: bytes,
					Dense: g.Spec.Format.AllDense() && g.Spec.Duplicates != coo.Refuse})
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

// ExistingCost returns the cost of blocks that exist already.
func ExistingCost(part *partition.Partition, sizes plan.Sizes, ranks int) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks)}
	for b := range plan.Block(part.Pieces()) {
		c.Kept[part.OwnerOf(b)] += sizes(b).Memory()
	}
	copy(c.Peak, c.Kept)
	return c
}

// records returns an upper bound of the number of entries that block b receives. If makesRoom is
// true, the bound includes the zeros that make room in the block for entries of other blocks (see
// slots).
func records(in Input, makesRoom bool, sizes plan.Sizes, b plan.Block) int64 {
	if in.Records == nil {
		return sizes(b).Most()
	}
	return in.Records(b, makesRoom)
}

// RedistributeCost estimates the memory that Redistribute needs in addition to the old blocks,
// which old describes. The function sizes returns the sizes of a new block. moved is false if the
// new blocks are views of the old ones. Only the fields Entries and Records of input are used.
func (g *Target) RedistributeCost(old *store.Blocks, asIs bool, input Input, sizes plan.Sizes,
	ranks int, limit int64) (c Cost, moved bool) {
	switch {
	case asIs && g.Same(old):
		return Cost{}, false
	case !asIs || !old.Layout.Format.AllDense():
		return g.Cost(Input{Entries: input.Entries, Records: input.Records}, sizes, ranks, limit), true
	}
	c = g.Cost(Input{InPlace: true}, sizes, ranks, limit)
	sent, largest, came := make([]int64, ranks), make([]int64, ranks), make([]int64, ranks)
	g.parts(old, func(z plan.Size, from, to int) {
		n := z.Memory()
		sent[from], largest[from], came[to] = sent[from]+n, max(largest[from], n), max(came[to], n)
	})
	for rank := range ranks {
		c.Peak[rank] += min(sent[rank], aheadBytes+largest[rank]) + came[rank]
	}
	return c, true
}

// UsesBetween reports whether Between will make the blocks. ranks is the number of ranks.
func (g *Target) UsesBetween(in Input, ranks int) bool {
	return in.Tensor != nil && g.canUseKeys(in.Tensor, in.AsIs, in.Alone, ranks)
}

// Least returns a lower bound of the size of each rank's blocks. fixed returns the number of bytes
// that a block needs regardless of its entries. The bound is 0 if the tensor has the blocks' format
// and type, and each block is a contiguous part of its arrays (Viewable).
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

// forecast predicts how blocks will be made. way is the way to make them, and bytes is an upper
// bound of the size of the buffers. limit is the number of free bytes, or 0 for no limit.
func (g *Target) forecast(in Input, ranks int, limit int64) (way, bytes int64) {
	if in.InPlace || g.areViews(in, ranks) {
		return shared, 0
	}
	if one := ranks == 1 && g.Partition.Pieces() == 1; one && g.Spec.Format.AllDense() &&
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
		entries = coo.FromTensor(in.Tensor, coo.ZerosFor(in.Tensor, g.Spec.Format, false))
	}
	way = g.chooseWay(entries, roomed)
	// coordinates may repeat
	if way == joining && !g.Spec.Format.Repeats() &&
		entries.(coo.TensorStream).Tensor().Format().Repeats() {
		return collecting, bytes
	}
	if way != spreading || in.Distinct {
		return way, bytes
	}
	if g.placing(entries) == coo.Once { // if a coordinate repeats, all entries are collected
		way = collecting
	}
	return way, bytes
}

// travelling returns an upper bound of the number of bytes that a rank sends and receives at the
// same time. A rank sends its entries in rounds. In one round it sends at most sendRoom bytes, a
// batch of entries, and its staged entries. The bound for the received bytes is inboxRooms times
// larger than the bound for the sent bytes.
//
// entries is the number of entries over all ranks. If makesRoom is true, the ranks also send zeros,
// which make room in other blocks. free is the number of free bytes of the rank.
func (g *Target) travelling(entries int64, makesRoom bool, free int64) int64 {
	modes, typ := g.Partition.Order, g.Spec.Type
	entry := groupBytes + recordBytes(modes, typ)
	blocks := g.Partition.Pieces()
	stage := blocks * staged(blocks, recordBytes(modes, typ), free)
	round := sendRoom(free) + entry*(stage+coo.BatchSize)
	if makesRoom { // each entry may make room in each block
		entries *= min(1+blocks, math.MaxInt64/(4*entry*max(entries, 1)))
	}
	// In a small tensor, each entry is at most one group, and nothing needs a whole cache line.
	return min((1+inboxRooms)*round, 2*max(entry*entries, tcs.Align))
}

// shared and assembling are ways to make blocks, in addition to collecting, spreading and joining.
// shared means that making the blocks needs no buffers. assembling means that the only rank makes
// the only block.
const shared, assembling = -1, -2

// levelSizes returns the sizes of the levels' modes.
func (g *Target) levelSizes() []int64 {
	sizes := make([]int64, len(g.Spec.Format.Order))
	for l, m := range g.Spec.Format.Order {
		sizes[l] = g.Spec.Dims[m]
	}
	return sizes
}

// areViews reports whether blocks are views of the tensor.
func (g *Target) areViews(in Input, ranks int) bool {
	return in.Tensor != nil && in.AsIs && !(in.Alone && ranks > 1) &&
		(g.Viewable(in.Tensor) || g.ViewableBetween(in.Tensor))
}
