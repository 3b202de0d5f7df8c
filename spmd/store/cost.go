package store

import (
	"slices"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/spmd/plan"
)

// Forecast is a tensor before it has blocks.
type Forecast struct {
	Blocks     // without Own
	BlockKinds string
	BlockModes []int // of the blocks, as leaves make them
	Sizes      plan.Sizes
	Ranks      int
	Limit      int64 // of a rank's memory; 0: none
}

// Cost is what a rank takes beside its blocks, at most but for very many ranks, while Write
// writes the tensor to a file of that name together with others: its buffers, unless blocks
// stand in the file as they are, and copies of blocks that are to come in another order.
// used is what the rank holds. A name of no format costs nothing: Write refuses it.
func (f *Forecast) Cost(rank int, name string, used int64) int64 {
	form, err := convert.FormatOf(name)
	if err != nil {
		return 0
	}
	share, entries, largest := int64(0), int64(0), int64(0)
	for b, owner := range f.Owners {
		if owner == rank {
			z := f.Sizes(plan.Block(b))
			share, entries, largest = share+z.Memory(), entries+z.Entries, max(largest, z.Entries)
		}
	}
	modes, text := f.Modes, form.Name != "tcs" && !form.Filled
	if form.Name != "tcs" {
		modes = form.Order(len(f.Dims), form.Options(f.dense(), f.Modes, 1))
	}
	inOrder := slices.Equal(f.BlockModes, modes)
	n := int64(0)
	if text || f.BlockKinds != f.Kinds || !inOrder || !f.inRows(modes) {
		n = f.buffers(share, max(f.Limit-used, 1))
		if text && entries > 0 {
			n += min(entries*int64(textMost*(len(f.Dims)+1)), spoolMemory+spoolChunk)
		}
	}
	if !f.dense() && !inOrder { // sortedCopy
		each, sizes := int64(f.Type.Size()), make([]int64, len(modes))
		for l, m := range modes {
			sizes[l] = f.Dims[m]
			each += width(f.Dims[m])
		}
		n += entries*each + coo.AssemblyBytes(sizes, f.Type, largest, largest*each, f.Limit)
	}
	return n
}

// inRows tells whether the blocks stand one after another in the order of modes.
func (f *Forecast) inRows(modes []int) bool {
	if len(modes) == 0 {
		return true
	}
	_, ok := f.rowwise(modes[0])
	return ok
}

// buffers is what windows or messages take of a share of so many bytes: two windows of all
// that comes, one put together, two for each rank that this one's own goes to; each is
// part of a share.
func (f *Forecast) buffers(share, free int64) int64 {
	windows := int64(2*f.Ranks + 4)
	n := max(roomOf(f.Limit > 0, free), windows*windowLeast)
	return min(n, windows*windowMost, 8*share+1<<20)
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
