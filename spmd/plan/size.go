package plan

import "distaff/io/tcs"

// Size is what a block takes, or is taken to take before there is one.
type Size struct {
	Entries int64
	Bytes   int64 // of its arrays
	Arrays  int64 // those that are not empty: the messages that carry the block
}

// Sizes are those of the blocks of one tensor.
type Sizes func(b Block) Size

// Add adds an array of n elements.
func (z *Size) Add(n, width int64) {
	if n > 0 && width > 0 {
		z.Bytes += n * width
		z.Arrays++
	}
}

// Memory is the bytes of memory that the block takes: its arrays are aligned, and large
// memory is counted in pages.
func (z Size) Memory() int64 {
	n := z.Bytes + z.Arrays*tcs.Align
	if n >= 1<<18 {
		n += 1 << 12
	}
	return n
}
