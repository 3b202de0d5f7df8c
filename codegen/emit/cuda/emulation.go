package cuda

import (
	_ "embed"
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// Emulation is the C++ header that precedes kernels that run on a CPU. It declares the parts of
// CUDA that they use.
//
//go:embed emulation.h
var Emulation string

// EmulationFlags returns the flags of g++ or clang++ to compile the text of Emulated, without
// the flags for the output. -fwrapv is required because integers wrap. -ffp-contract=fast lets the
// compiler fuse products with sums, as CUDA's compiler does.
func EmulationFlags() []string {
	return []string{"-x", "c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fwrapv",
		"-ffp-contract=fast", "-fno-strict-aliasing", "-fno-exceptions", "-Wno-unknown-pragmas"}
}

// Emulated returns a C++ file for the CPU. It contains Emulation, f's kernels as File prints them,
// and for each kernel a C function NAME_emulated, which emulation.h describes.
func Emulated(f *ir.Func) string {
	text, kernels := print(f, clike.NewNamer(nil))
	var b strings.Builder
	b.WriteString(Emulation + text + "\n")
	for _, k := range kernels {
		entry(&b, k.launch.Name, k.launch.Launch.Threads, k.waits, k.launch.SharedBytes)
	}
	return b.String()
}

// EmulatedPrelude returns Prelude as a C++ file for the CPU, in the same way as Emulated.
func EmulatedPrelude() string {
	var b strings.Builder
	b.WriteString(Emulation + Prelude + "\n")
	for _, size := range []int{1, 4, 8, 16} {
		entry(&b, fmt.Sprintf("dst_fill_%d", size), preludeThreads, false, 0)
	}
	for _, bits := range []int{32, 64} {
		for _, what := range []string{"sums", "offsets", "add"} {
			entry(&b, fmt.Sprintf("dst_scan_%s_%d", what, bits), preludeThreads, true, 0)
		}
	}
	return b.String()
}

func entry(b *strings.Builder, name string, threads int64, waits bool, shared int64) {
	fmt.Fprintf(b, "DST_ENTRY(%s, %d, %t, %d)\n", name, threads, waits, shared)
}
