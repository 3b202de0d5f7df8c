package load

import (
	"math"

	"distaff/io/coo"
	"distaff/io/tcs"
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
	Entries  int64
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
	var way int64
	way, c.Buffers = g.forecast(in, ranks, limit)
	sorted, marks := make([]int64, ranks), make([]int64, ranks)
	record := int64(0)
	if way == collecting {
		record = coo.RecordBytes(g.levelSizes(), g.Spec.Type)
	}
	collected := make([]int64, ranks)
	for b := range plan.Block(g.Partition.Pieces()) {
		rank, z := g.Partition.OwnerOf(b), sizes(b)
		bytes := z.Memory()
		if in.Mapped && g.Partition.Ordered() == nil && g.shown(in, ranks) {
			bytes = 0 // of views between keys, ends of segments are copied
		}
		c.Kept[rank] += bytes
		if way == spreading && in.Tensor == nil {
			marks[rank] += z.Most() / 8 // a bit for each place that is taken: coo.Once
		}
		collected[rank] += coo.Collected(record, z.Most())
		sorted[rank] += max(bytes, record*z.Most()) // a block's entries go as it is filled
	}
	for rank := range ranks {
		c.Peak[rank] = c.Kept[rank] + marks[rank]
		if n := collected[rank]; n > 0 {
			c.Peak[rank] = max(sorted[rank], n+coo.SortBytes(n))
			if limit > 0 { // what passes the pool's budget goes to disk
				budget := coo.PoolBudget(limit)
				c.Peak[rank] = min(c.Peak[rank], c.Kept[rank]+budget+coo.SortBytes(budget))
			}
		}
		c.Peak[rank] += c.Buffers
	}
	return c
}

// HeldCost is what Held takes over so many ranks beside the blocks that there are, for blocks of those sizes; moved is false where it
// shows what there is.
func (g *Target) HeldCost(from *store.Blocks, asIs bool, entries int64, sizes plan.Sizes, ranks int, limit int64) (c Cost, moved bool) {
	switch {
	case asIs && g.Same(from):
		return Cost{}, false
	case !asIs || !tcs.AllDense(from.Kinds):
		return g.Cost(Input{Entries: entries}, sizes, ranks, limit), true
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

// Least is what the blocks of each of so many ranks take at least, of what each takes whatever its entries
// are: nothing where they show the tensor.
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
	free := limit
	if free <= 0 {
		free = math.MaxInt64
	}
	modes, typ := g.Partition.Order, g.Spec.Type
	bytes = buffers(ranks, g.Partition.Pieces(), modes, typ, free)
	if ranks > 1 { // a small tensor does not fill what is sent, and what comes: each entry is a group at most, and nothing takes a line
		bytes += min((1+inboxRooms)*sendRoom(free), 2*max((groupBytes+recordBytes(modes, typ))*in.Entries, tcs.Align))
	}
	var entries coo.Stream
	if in.Tensor != nil {
		entries = coo.FromTensor(in.Tensor, coo.ZerosFor(in.Tensor, g.Spec.Kinds, g.Spec.Modes, false))
	}
	way = g.way(entries, newSlots(g, g.split()))
	if way == joining && !tcs.KeepsRepeats(g.Spec.Kinds) && tcs.KeepsRepeats(kindsOf(entries.(coo.Tensored))) { // where a coordinate does come twice
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

// shared is the way of blocks that take no memory but their own.
const shared = -1

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
	return in.Tensor != nil && in.AsIs && !(in.Alone && ranks > 1) && (g.Viewable(in.Tensor) || g.ViewableBetween(in.Tensor))
}
