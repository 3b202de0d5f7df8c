package cuda

import (
	_ "embed"
	"fmt"

	"distaff/codegen/ir"
)

// Prelude is a CUDA C++ file, the same for all leaves, with the kernels that Fill and Scan call.
//
//go:embed kernels.cuh
var Prelude string

// Threads of a block of Prelude's kernels.
const preludeThreads = 256

// scanTile is the number of elements that a block of a scan adds up.
const scanTile = 4096

// ArgKind says what a parameter of a kernel of Prelude is given.
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

// Call is a sequence of launches, one after another in a stream.
type Call struct {
	// Sums is how many elements of scratch memory the launches need, of the array's type;
	// their contents do not matter.
	Sums  int64
	Steps []Step
}

// Fill says how n elements of a type are set to one value; there are no steps for n = 0.
func Fill(t ir.Type, n int64) Call {
	if n <= 0 {
		return Call{}
	}
	const most = 1 << 16 // blocks, of which each fills again and again
	grid := min((n-1)/preludeThreads+1, most)
	name := fmt.Sprintf("dst_fill_%d", t.Size())
	return Call{Steps: []Step{{name, grid, preludeThreads, []ArgKind{ArgArray, ArgLength, ArgValue}}}}
}

// Scan says how n integers, Int32 or Int64, are replaced by their sums from the first on, in three
// launches: the sums of tiles, those before each tile, and the sums within tiles on top of these.
// There are no steps for n = 0.
func Scan(t ir.Type, n int64) Call {
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
