package cuda

import (
	_ "embed"
	"fmt"

	"distaff/io/tensor"
)

// Prelude is a CUDA C++ file, the same for all leaves, with the kernels that Fill and Scan call.
//
//go:embed kernels.cuh
var Prelude string

// preludeThreads is the number of threads in a block of Prelude's kernels.
const preludeThreads = 256

// scanTile is the number of elements that one block of threads adds in a scan.
const scanTile = 4096

// ArgKind says what a kernel of Prelude gets for a parameter.
type ArgKind uint8

const (
	ArgArray  ArgKind = iota // a pointer to the first element of the array's part
	ArgLength                // int64: the number of elements of the part
	ArgValue                 // the element to fill with, of the array's type
	ArgSums                  // a pointer to Call.Sums elements of scratch memory
	ArgBlocks                // int64: Call.Sums
)

// Step is a launch of one kernel of Prelude.
type Step struct {
	Kernel        string
	Grid, Threads int64
	Args          []ArgKind
}

// Call is a sequence of launches, which run one after another in a stream.
type Call struct {
	// Sums is the number of elements of scratch memory that the launches need, of the array's type.
	// Their initial values do not matter.
	Sums  int64
	Steps []Step
}

// Fill returns the launches that set n elements of a type to one value. It returns no steps if n is
// 0.
func Fill(t tensor.Type, n int64) Call {
	if n <= 0 {
		return Call{}
	}
	const most = 1 << 16 // the largest number of blocks; each block may fill several parts
	grid := min((n-1)/preludeThreads+1, most)
	name := fmt.Sprintf("dst_fill_%d", t.Size())
	return Call{Steps: []Step{{name, grid, preludeThreads, []ArgKind{ArgArray, ArgLength, ArgValue}}}}
}

// Scan returns the launches that replace n integers, Int32 or Int64, with their prefix sums. There
// are three: the first computes the sums of tiles, the second computes the sum before each tile,
// and the third adds this sum to the prefix sums within each tile. Scan returns no steps if n is 0.
func Scan(t tensor.Type, n int64) Call {
	if !t.IsInt() {
		panic(fmt.Sprintf("BUG: emit/cuda: scan of %s", t))
	}
	if n <= 0 {
		return Call{}
	}
	blocks := (n-1)/scanTile + 1
	name := func(what string) string { return fmt.Sprintf("dst_scan_%s_%d", what, 8*t.Size()) }
	whole := []ArgKind{ArgArray, ArgLength, ArgSums}
	return Call{Sums: blocks, Steps: []Step{
		{name("sums"), blocks, preludeThreads, whole},
		{name("offsets"), 1, preludeThreads, []ArgKind{ArgSums, ArgBlocks}},
		{name("add"), blocks, preludeThreads, whole},
	}}
}
