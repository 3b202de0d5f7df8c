package plan

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Size is the actual or estimated size of a block.
type Size struct {
	Entries int64
	Bytes   int64 // bytes of its arrays
	// number of arrays that are not empty, which is the number of messages that carry the block
	Arrays int64
	// MoreEntries and MoreBytes are added to estimates to obtain an upper bound. They are 0 if the
	// size is exact.
	MoreEntries, MoreBytes int64
}

// Sizes returns the sizes of the blocks of one tensor.
type Sizes func(b Block) Size

// Add adds an array of n elements of width bytes each.
func (z *Size) Add(n, width int64) {
	if n > 0 && width > 0 {
		tensor.Add(&z.Bytes, tensor.Times(n, width))
		z.Arrays++
	}
}

// Most returns the upper bound of the number of entries.
func (z Size) Most() int64 { return z.Entries + z.MoreEntries }

// Memory returns the upper bound of the bytes that the block occupies in memory. Arrays are
// aligned, and large memory is rounded up to pages. An empty block occupies memory too.
func (z Size) Memory() int64 {
	n := tensor.Plus(tensor.Plus(z.Bytes, z.MoreBytes), z.Arrays*tcs.Align)
	if n >= 1<<18 {
		n = tensor.Plus(n, 1<<12)
	}
	return max(n, tcs.Align)
}
