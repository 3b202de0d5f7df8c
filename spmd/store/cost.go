package store

import (
	"slices"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/plan"
)

// Forecast describes a tensor that is going to be written, before it has blocks.
type Forecast struct {
	Blocks      Blocks        // without Own
	BlockFormat tensor.Format // of the blocks that leaves make
	Sizes       plan.Sizes
	Ranks       int
	Limit       int64 // of a rank's memory; 0 for no limit
	Threads     int   // of a rank
}

// Cost returns how many bytes each rank needs, besides its blocks, while Write writes the tensor to
// a file. A rank needs memory for copies of blocks that must be sorted, and for buffers. Ranks that
// write their blocks directly from memory need no buffers. With very many ranks, a rank may need
// more memory than the returned cost.
//
// name is the name of the file. If it has no known format, the cost is 0, because Write refuses the
// file. used[r] is the number of bytes that rank r uses already.
func (f *Forecast) Cost(name string, used []int64) []int64 {
	cost := make([]int64, f.Ranks)
	form, err := convert.FormatOf(name)
	if err != nil {
		return cost
	}
	share, entries := make([]int64, f.Ranks), make([]int64, f.Ranks)
	total, listed := int64(0), int64(0) // bytes and entries of all ranks
	for b, owner := range f.Blocks.Owners {
		z := f.Sizes(plan.Block(b))
		tensor.Add(&total, z.Memory())
		tensor.Add(&listed, z.Most())
		share[owner] += z.Memory()
		entries[owner] += z.Most()
	}
	modes, lists := f.Blocks.Layout.Format.Order, form.Name != "tcs" && !form.Filled
	if form.Name != "tcs" {
		modes = form.Order(len(f.Blocks.Layout.Dims),
			form.Options(f.Blocks.isDense(), f.Blocks.Layout.Format.Order, 1))
	}
	switch {
	// the block is the tensor
	case f.Ranks == 1 && len(f.Blocks.Owners) == 1 && f.BlockFormat.Equal(f.Blocks.Layout.Format):
		if form.Name != "tcs" && !slices.Equal(f.Blocks.Layout.Format.Order, modes) {
			cost[0] = f.sorting(modes).AssembleBytes(entries[0], 0, f.Limit)
		}
		return cost
	// all entries go through one stream
	case len(f.Blocks.Layout.Dims) == 0 || form.Name != "tcs" && form.Head == nil ||
		convert.Compressed(name) || text.Stdin(name):
		return f.gathering(modes, form.Name != "tcs")
	}
	arrays := f.Blocks.isDense() && (form.Name == "tcs" || form.Filled)
	buffered, copies := !f.inPlace(form, modes, entries), f.copies(modes, form.Name != "tcs")
	for rank := range cost {
		n := &cost[rank]
		free := max(f.Limit-used[rank], 1)
		switch {
		case !buffered:
		// dense.exchange: two windows that arrive and one that is assembled, and one for each other
		// rank
		case arrays:
			size := int64(f.Blocks.Layout.Type.Size())
			*n = int64(f.Ranks+2) * size * newWindows(newFrame(f.Blocks.Layout.Dims, modes).total, size,
				f.Ranks,
				rankBufferBytes(f.Limit > 0, free)).step
		default:
			*n = f.buffers(share[rank], total, free)
			if form.Name == "tcs" {
				*n += f.columns(listed, free)
			}
		}
		if lists {
			*n += spooled(entries[rank] * int64(maxNumberText*(len(f.Blocks.Layout.Dims)+1)))
		}
		if !arrays {
			*n += copies[rank]
		}
	}
	return cost
}

// copies returns the number of bytes that each rank needs for copies of its blocks in the order of
// modes. The number includes memory for sorting one block (sortedCopy). If sum is true, entries
// with equal coordinates are added. The result is 0 at every rank if blocks need no copies: they
// are stored in the order of modes, they have no padding, and sum is false or their coordinates do
// not repeat.
func (f *Forecast) copies(modes []int, sum bool) []int64 {
	cost, largest := make([]int64, f.Ranks), make([]int64, f.Ranks)
	if slices.Equal(f.BlockFormat.Order, modes) && !f.BlockFormat.HasPadding() &&
		!(sum && f.BlockFormat.Repeats()) {
		return cost
	}
	each, sorting := int64(f.Blocks.Layout.Type.Size()), f.sorting(modes)
	for _, m := range modes {
		each += width(f.Blocks.Layout.Dims[m])
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

// sorting returns the cost of sorting entries in the order of modes.
func (f *Forecast) sorting(modes []int) coo.SortCost {
	sizes := make([]int64, len(modes))
	for l, m := range modes {
		sizes[l] = f.Blocks.Layout.Dims[m]
	}
	return coo.NewSortCost(sizes, f.Blocks.Layout.Type, f.Threads)
}

// SummaryCost returns an upper bound of the number of bytes that each rank needs, besides its
// blocks, while Summary counts the entries of a sparse tensor. The bound is for blocks that cannot
// simply be concatenated. A rank has two buffers for each rank that receives entries from it, and
// two for each rank that sends entries to it. Each buffer holds one message.
func (f *Forecast) SummaryCost() []int64 {
	cost := make([]int64, f.Ranks)
	if f.Blocks.isDense() {
		return cost
	}
	entries, total := make([]int64, f.Ranks), int64(0)
	for b, owner := range f.Blocks.Owners {
		n := f.Sizes(plan.Block(b)).Most()
		entries[owner] += n
		total += n
	}
	entry, others := int64(8*len(f.Blocks.Layout.Dims)+int(f.Blocks.Layout.Type.Size())),
		int64(f.Ranks-1)
	most := max(bufferMemory/2, 4*others*minBatch*entry)
	copies := f.copies(f.Blocks.Layout.Format.Order, false)
	for rank := range cost {
		// a message holds a multiple of 16 entries
		rounded := 15 * (min(entries[rank], others) + min(total, others))
		cost[rank] = copies[rank] + min(most, 2*entry*(entries[rank]+total+rounded))
	}
	return cost
}

// GatherCost returns an upper bound of the number of bytes that each rank needs, besides its
// blocks, while Gather sends all entries to rank 0. The bound includes copies of blocks that must
// be sorted. It also includes message buffers: two at each rank except rank 0, and two at rank 0
// for each other rank.
func (f *Forecast) GatherCost() []int64 { return f.gathering(f.Blocks.Layout.Format.Order, false) }

// gathering returns the same bound as GatherCost, for the case that the entries are sorted by
// modes. If sum is set, entries with equal coordinates are added.
func (f *Forecast) gathering(modes []int, sum bool) []int64 {
	cost := make([]int64, f.Ranks)
	entries := make([]int64, f.Ranks)
	for b, owner := range f.Blocks.Owners {
		entries[owner] += f.Sizes(plan.Block(b)).Most()
	}
	copies := f.copies(modes, sum)
	for rank := 1; rank < f.Ranks; rank++ {
		cost[rank] = 2 * messageEntries(max(entries[rank], 1),
			maxBatch) * int64(8*len(f.Blocks.Layout.Dims)+int(f.Blocks.Layout.Type.Size()))
		cost[0] += cost[rank]
	}
	for rank := range cost {
		cost[rank] += copies[rank]
	}
	return cost
}

// inPlace reports whether each rank writes its blocks directly from memory. entries is the number
// of entries of each rank.
func (f *Forecast) inPlace(form *convert.Format, modes []int, entries []int64) bool {
	want := tensor.Format{Levels: f.Blocks.Layout.Format.Levels, Order: modes}
	if !f.BlockFormat.Equal(want) {
		return false
	}
	switch {
	case f.Blocks.isDense() && (form.Name == "tcs" || form.Filled):
		return f.Blocks.intervals(newFrame(f.Blocks.Layout.Dims, modes))
	case form.Name == "tcs":
		_, ok := f.Blocks.parts()
		return ok && !isSkewed(entries)
	}
	return false
}

// buffers estimates how many bytes the buffers for a rank's windows or messages occupy. share is
// the number of bytes of the tensor that the rank holds, and total the number that all ranks hold.
// free is the rank's free memory in bytes.
//
// The rank has buffers for two windows that arrive, for one window that it assembles, and for two
// messages to each other rank. The messages to other ranks contain only bytes of the rank's own
// share. The window that it assembles may contain bytes of all ranks.
func (f *Forecast) buffers(share, total, free int64) int64 {
	windows := int64(2*f.Ranks + 4)
	n := max(rankBufferBytes(f.Limit > 0, free), windows*minWindow)
	assembled := min(tensor.Times(8, total-min(share, total)), 5*goodWindow)
	return min(n, windows*maxWindow, tensor.Plus(tensor.Times(8, share), assembled+1<<20))
}

// columns returns the size, in bytes, of a rank's buffers for the arrays of the levels above the
// rows (see rows.columns). It returns 0 if the rows are not listed. entries is the number of
// entries of all ranks. free is the number of bytes that remain below the rank's memory limit.
func (f *Forecast) columns(entries, free int64) int64 {
	levels := f.Blocks.Layout.Format.Levels
	listed := int64(len(levels) - 1 - f.Blocks.Layout.Format.LeadingDense())
	if listed <= 0 {
		return 0
	}
	tops := int64(1)
	for _, m := range f.Blocks.Layout.Format.Order[:f.Blocks.Layout.Format.LeadingDense()] {
		tops = tensor.Times(tops, f.Blocks.Layout.Dims[m])
	}
	bytes := rankBufferBytes(f.Limit > 0, free)
	return (2*listed-2)*columnBytes(bytes, entries) + columnBytes(bytes, tops)
}

// spooled returns how many bytes a spool keeps in memory at most. text is the length of the spooled
// text in bytes.
func spooled(text int64) int64 {
	if text == 0 {
		return 0
	}
	chunks := (max(text-spoolFirst, 0) + spoolChunk - 1) / spoolChunk
	return spoolFirst + spoolChunk*min(chunks, spoolMemory/spoolChunk)
}

// width returns the width in bytes of a coordinate below n.
func width(n int64) int64 {
	if n <= 1<<31-1 {
		return 4
	}
	return 8
}

// maxNumberText is the largest number of characters of a number and the separator after it.
const maxNumberText = 26
