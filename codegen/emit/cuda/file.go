package cuda

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// MostStatic is how many bytes of shared memory a block may have without asking for it.
const MostStatic = 48 << 10

// Kernel says how a Launch's kernel is called. The parameters are pointers to the Arrays' memory,
// the values of the Vars, each as wide as its ir.Type, and where Fails, a pointer to a status word
// of StatusSize bytes.
//
// A grid has at most MaxGrid blocks, and may have none, which CUDA refuses to launch: both are the
// caller's to check, who knows Launch.Grid's value.
type Kernel struct {
	Name   string // of the kernel in the file
	Launch *ir.Launch
	Arrays []*ir.Array
	Vars   []*ir.Var
	Fails  bool
	// SharedBytes is the dynamic shared memory to launch the kernel with. It is 0 where the shared
	// arrays take MostStatic at most. Else the function's attribute
	// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES must first be set to it, which a device refuses
	// that has less.
	SharedBytes int64
	// Stores are those of Arrays that the kernel stores to.
	Stores map[*ir.Array]bool
}

// MaxGrid is the largest number of blocks of a launch.
const MaxGrid = 1<<31 - 1

// The status word: a 32-bit code (an ir.FailCode, 0 before the launch), a 32-bit number of
// coordinates, and the coordinates, of 64 bits each.
const (
	StatusCount = 4 // where the number of coordinates is
	StatusCoord = 8 // where the coordinates begin
	StatusSize  = StatusCoord + 8*ir.MaxFailCoord
)

// Kernels are the kernels of f's Launches, in the order in which they stand in it.
func Kernels(f *ir.Func) []Kernel {
	var list []Kernel
	for _, k := range newFile(f, clike.NewNamer(nil)).kernels {
		list = append(list, k.launch)
	}
	return list
}

// File is a CUDA C++ file with a kernel for each of f's Launches: `extern "C" __global__`, with the
// parameters that Kernels says. It includes nothing: NVRTC compiles it as it is. It panics
// on a leaf that ir.Verify refuses.
func File(f *ir.Func) string {
	text, _ := print(f, clike.NewNamer(nil))
	return text
}

// Unnamed is File with variables and arrays numbered: it is the same for all leaves that differ in
// their names alone. Kernels says how its kernels are called, too.
func Unnamed(f *ir.Func) string {
	text, _ := print(f, clike.NewUnnamed())
	return text
}

// print is the file, and the kernels in it.
func print(f *ir.Func, names *clike.Namer) (text string, kernels []*kernel) {
	file := newFile(f, names)
	var body strings.Builder
	for _, k := range file.kernels {
		body.WriteString("\n" + k.text())
	}
	head := fmt.Sprintf("// The kernels of %s.\n", clike.Comment(f.Name))
	return head + clike.Prelude(helpers, file.needs, helperText) + body.String(), file.kernels
}

// file is a file as it is made.
type file struct {
	fn      *ir.Func
	needs   map[string]bool
	names   *clike.Namer // of kernels
	kernels []*kernel
	values  map[any]bool // variables and arrays of tensors' values, whose arithmetic may wrap
}

// own are names that a kernel uses itself.
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
