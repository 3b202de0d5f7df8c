package store

import (
	"slices"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/spmd/plan"
)

// Forecast is a tensor before it has blocks.
type Forecast struct {
	Blocks     Blocks // without Own
	BlockKinds string
	BlockModes []int // of the blocks, as leaves make them
	Sizes      plan.Sizes
	Ranks      int
	Limit      int64 // of a rank's memory; 0: none
	Threads    int   // of a rank
}

// Cost is what each rank takes beside its blocks, at most but for very many ranks, while
// Write writes the tensor to a file of that name together with others: its buffers, unless
// blocks stand in the file as they are, and copies of blocks that are to come in another order.
// used is what each holds. A name of no format costs nothing: Write refuses it.
func (f *Forecast) Cost(name string, used []int64) []int64 {
	cost := make([]int64, f.Ranks)
	form, err := convert.FormatOf(name)
	if err != nil {
		return cost
	}
	share, entries := make([]int64, f.Ranks), make([]int64, f.Ranks)
	for b, owner := range f.Blocks.Owners {
		z := f.Sizes(plan.Block(b))
		share[owner] += z.Memory()
		entries[owner] += z.Most()
	}
	modes, lists := f.Blocks.Modes, form.Name != "tcs" && !form.Filled
	if form.Name != "tcs" {
		modes = form.Order(len(f.Blocks.Dims), form.Options(f.Blocks.dense(), f.Blocks.Modes, 1))
	}
	switch {
	// the block is the tensor
	case f.Ranks == 1 && len(f.Blocks.Owners) == 1 && f.BlockKinds == f.Blocks.Kinds &&
		slices.Equal(f.BlockModes, f.Blocks.Modes):
		if form.Name != "tcs" && !slices.Equal(f.Blocks.Modes, modes) {
			cost[0] = f.sorting(modes).AssembleBytes(entries[0], 0, f.Limit)
		}
		return cost
	// all in one stream
	case len(f.Blocks.Dims) == 0 || form.Name != "tcs" && form.Head == nil ||
		convert.Compressed(name) || text.Stdin(name):
		return f.gathering(modes, form.Name != "tcs")
	}
	arrays := f.Blocks.dense() && (form.Name == "tcs" || form.Filled)
	buffered, copies := !f.inPlace(form, modes, entries), f.copies(modes, form.Name != "tcs")
	for rank := range cost {
		n := &cost[rank]
		free := max(f.Limit-used[rank], 1)
		switch {
		case !buffered:
		// dense.exchange: two windows that come and one put together, and one to each other rank
		case arrays:
			size := int64(f.Blocks.Type.Size())
			*n = int64(f.Ranks+2) * size * newWindows(newFrame(f.Blocks.Dims, modes).total, size, f.Ranks,
				buffersOf(f.Limit > 0, free)).step
		default:
			*n = f.buffers(share[rank], free)
		}
		if lists {
			*n += spooled(entries[rank] * int64(textMost*(len(f.Blocks.Dims)+1)))
		}
		if !arrays {
			*n += copies[rank]
		}
	}
	return cost
}

// copies is what each rank takes for copies of its blocks in the order of modes, where they do not
// have it, and for making one (sortedCopy); sum says that entries of one coordinate become one.
func (f *Forecast) copies(modes []int, sum bool) []int64 {
	cost, largest := make([]int64, f.Ranks), make([]int64, f.Ranks)
	if slices.Equal(f.BlockModes, modes) && !padded(f.BlockKinds) &&
		!(sum && tcs.KeepsRepeats(f.BlockKinds)) {
		return cost
	}
	each, sorting := int64(f.Blocks.Type.Size()), f.sorting(modes)
	for _, m := range modes {
		each += width(f.Blocks.Dims[m])
	}
	for b, owner := range f.Blocks.Owners {
		n := f.Sizes(plan.Block(b)).Most()
		cost[owner] += n*each + int64(len(modes)+2)*tcs.Align
		largest[owner] = max(largest[owner], n)
	}
	for rank := range cost {
		cost[rank] += sorting.AssembleBytes(largest[rank], largest[rank]*each, f.Limit)
	}
	return cost
}

// sorting is what sorts entries in the order of modes.
func (f *Forecast) sorting(modes []int) coo.SortCost {
	sizes := make([]int64, len(modes))
	for l, m := range modes {
		sizes[l] = f.Blocks.Dims[m]
	}
	return coo.NewSortCost(sizes, f.Blocks.Type, f.Threads)
}

// SummaryCost is what each rank takes beside its blocks, at most, while Summary counts the entries
// of a sparse tensor whose blocks are no parts of its arrays: two messages to each other rank that
// gets some of its entries, and two from each that sends some, of which there are as many as
// buffers allow.
func (f *Forecast) SummaryCost() []int64 {
	cost := make([]int64, f.Ranks)
	if f.Blocks.dense() {
		return cost
	}
	entries, total := make([]int64, f.Ranks), int64(0)
	for b, owner := range f.Blocks.Owners {
		n := f.Sizes(plan.Block(b)).Most()
		entries[owner] += n
		total += n
	}
	entry, others := int64(8*len(f.Blocks.Dims)+f.Blocks.Type.Size()), int64(f.Ranks-1)
	most := max(bufferMemory/2, 4*others*batchLeast*entry)
	copies := f.copies(f.Blocks.Modes, false)
	for rank := range cost {
		// a message has whole multiples of 16
		rounded := 15 * (min(entries[rank], others) + min(total, others))
		cost[rank] = copies[rank] + min(most, 2*entry*(entries[rank]+total+rounded))
	}
	return cost
}

// GatherCost is what each rank takes beside its blocks, at most, while Gather brings all entries to
// rank 0: two messages, and there two from each of the others.
func (f *Forecast) GatherCost() []int64 { return f.gathering(f.Blocks.Modes, false) }

// gathering is the same in an order of modes; sum says that entries of one coordinate become one.
func (f *Forecast) gathering(modes []int, sum bool) []int64 {
	cost := make([]int64, f.Ranks)
	entries := make([]int64, f.Ranks)
	for b, owner := range f.Blocks.Owners {
		entries[owner] += f.Sizes(plan.Block(b)).Most()
	}
	copies := f.copies(modes, sum)
	for rank := 1; rank < f.Ranks; rank++ {
		cost[rank] = 2 * messageEntries(max(entries[rank], 1),
			batchMost) * int64(8*len(f.Blocks.Dims)+f.Blocks.Type.Size())
		cost[0] += cost[rank]
	}
	for rank := range cost {
		cost[rank] += copies[rank]
	}
	return cost
}

// inPlace tells whether each rank writes its blocks, of so many entries, as they stand in
// memory.
func (f *Forecast) inPlace(form *convert.Format, modes []int, entries []int64) bool {
	if f.BlockKinds != f.Blocks.Kinds || !slices.Equal(f.BlockModes, modes) {
		return false
	}
	switch {
	case f.Blocks.dense() && (form.Name == "tcs" || form.Filled):
		return f.Blocks.intervals(newFrame(f.Blocks.Dims, modes))
	case form.Name == "tcs":
		_, ok := f.Blocks.parts()
		return ok && !skewed(entries)
	}
	return false
}

// buffers is what windows or messages take of a share of so many bytes: two windows of all
// that comes, one put together, two for each rank that this one's own goes to; each is
// part of a share.
func (f *Forecast) buffers(share, free int64) int64 {
	windows := int64(2*f.Ranks + 4)
	n := max(buffersOf(f.Limit > 0, free), windows*windowLeast)
	return min(n, windows*windowMost, 8*share+1<<20)
}

// spooled is what a spool holds in memory of so many bytes of text at most.
func spooled(text int64) int64 {
	if text == 0 {
		return 0
	}
	chunks := (max(text-spoolFirst, 0) + spoolChunk - 1) / spoolChunk
	return spoolFirst + spoolChunk*min(chunks, spoolMemory/spoolChunk)
}

// width is the bytes of a coordinate below n.
func width(n int64) int64 {
	if n <= 1<<31-1 {
		return 4
	}
	return 8
}

// textMost is the characters of a number, and what follows it, at most.
const textMost = 26
