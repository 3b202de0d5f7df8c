package cuda

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// MostStatic is the largest number of bytes of shared memory that a block may have without
// requesting it.
const MostStatic = 48 << 10

// Kernel says how to call the kernel of a Launch. The parameters are pointers to the memory of
// Arrays, then the values of Vars, each with the width of its type, and then, if Fails is true, a
// pointer to a status word of StatusSize bytes.
//
// The caller must check the number of blocks, because only the caller knows the value of
// Launch.Grid. The number must not exceed MaxGrid. If it is 0, the caller must not launch the
// kernel, because CUDA refuses a launch without blocks.
type Kernel struct {
	Name   string // the kernel's name in the file
	Launch *ir.Launch
	Arrays []*ir.Array
	Vars   []*ir.Var
	Fails  bool
	// SharedBytes is the size of the dynamic shared memory that a launch of the kernel must request.
	// It is 0 if the shared arrays fit in MostStatic. Otherwise the caller must first set the
	// function's attribute CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES to this size. A device
	// with less shared memory refuses this.
	SharedBytes int64
	// Stores has the members of Arrays that the kernel stores to.
	Stores map[*ir.Array]bool
}

// MaxGrid is the largest number of blocks of a launch.
const MaxGrid = 1<<31 - 1

// The status word consists of a 32-bit code (an ir.FailCode, or 0), the number of coordinates as 32
// bits, and the coordinates, 64 bits each.
const (
	StatusCount = 4 // offset of the number of coordinates
	StatusCoord = 8 // offset of the coordinates
	StatusSize  = StatusCoord + 8*ir.MaxFailCoord
)

// Kernels returns the kernels of f's Launches in their order.
func Kernels(f *ir.Func) []Kernel {
	var list []Kernel
	for _, k := range newFile(f, clike.NewNamer(nil)).kernels {
		list = append(list, k.launch)
	}
	return list
}

// File returns a CUDA C++ file with a kernel for each of f's Launches. A kernel is declared `extern
// "C" __global__`, and Kernels describes its parameters. The file has no #include, and NVRTC
// compiles it as it is. File panics if ir.Verify refuses the leaf.
func File(f *ir.Func) string {
	text, _ := print(f, clike.NewNamer(nil))
	return text
}

// Unnamed is like File, but variables and arrays have numbers in place of names. The text is the
// same for all leaves that differ only in these names. Its kernels are called in the same way as
// the kernels of File: Kernels describes both.
func Unnamed(f *ir.Func) string {
	text, _ := print(f, clike.NewUnnamed())
	return text
}

// print returns the file's text and its kernels.
func print(f *ir.Func, names *clike.Namer) (text string, kernels []*kernel) {
	file := newFile(f, names)
	var body strings.Builder
	for _, k := range file.kernels {
		body.WriteString("\n" + k.text())
	}
	head := fmt.Sprintf("// The kernels of %s.\n", clike.Comment(f.Name))
	return head + clike.Prelude(helpers, file.needs, helperText) + body.String(), file.kernels
}

// file is a file while it is printed.
type file struct {
	fn      *ir.Func
	needs   map[string]bool
	names   *clike.Namer // the names of kernels
	kernels []*kernel
	// variables and arrays of tensors' values, whose arithmetic may wrap around
	values map[any]bool
}

// own lists names that a kernel uses itself.
var own = []string{"status", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}

func newFile(f *ir.Func, names *clike.Namer) *file {
	if err := ir.Verify(f); err != nil {
		panic("BUG: emit/cuda: " + err.Error())
	}
	file := &file{fn: f, needs: map[string]bool{}, names: names, values: valued(f)}
	for _, name := range own {
		file.names.Take(name)
	}
	ir.Walk(f.Body, func(s ir.Stmt) {
		if l, ok := s.(*ir.Launch); ok {
			file.kernels = append(file.kernels, file.newKernel(l))
		}
	})
	return file
}
