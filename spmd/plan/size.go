package plan

import "distaff/io/tcs"

// Size is what a block takes, or is taken to take before there is one.
type Size struct {
	Entries int64
	Bytes   int64 // of its arrays
	Arrays  int64 // those that are not empty: the messages that carry the block
	// Of a block of which these are estimates, by how many more entries and bytes it is to be reckoned
	// with; 0 of others.
	MoreEntries, MoreBytes int64
}

// Sizes are those of the blocks of one tensor.
type Sizes func(b Block) Size

// Add adds an array of n elements.
func (z *Size) Add(n, width int64) {
	if n > 0 && width > 0 {
		tcs.Add(&z.Bytes, tcs.Times(n, width))
		z.Arrays++
	}
}

// Most is the most entries that are reckoned with.
func (z Size) Most() int64 { return z.Entries + z.MoreEntries }

// Memory is the most bytes of memory that the block is taken to take: its arrays are aligned, and
// large memory is counted in pages. An empty block takes memory as well.
func (z Size) Memory() int64 {
	n := tcs.Plus(tcs.Plus(z.Bytes, z.MoreBytes), z.Arrays*tcs.Align)
	if n >= 1<<18 {
		n = tcs.Plus(n, 1<<12)
	}
	return max(n, tcs.Align)
}
