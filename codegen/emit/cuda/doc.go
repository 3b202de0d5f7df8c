// Package cuda prints the kernels of a leaf as CUDA C++, to be read as well as compiled.
//
// # What a file holds
//
// File prints the helpers that the kernels use (one file each in prelude/) and one kernel for each
// ir.Launch; Kernels says how they are called. The rest of the leaf is the host's, who runs it from
// the IR. The text includes nothing: NVRTC compiles it as it is, and so does clang with
// declarations of CUDA's built-in functions in front of it. Prelude is a second file, the same for
// all leaves, with the kernels for Fill and Scan, which the functions of these names take apart
// into launches.
//
// # Meaning
//
// The CUDA means what interp does, with the same liberties as the C of emit/c: a product may be
// fused with a sum, atomic additions come in any order, and loads may move. Signed integers that
// overflow are undefined in CUDA and wrap in the IR. Coordinates and positions do not overflow and
// are added as they are; arithmetic on integers that come from tensors' values goes through
// unsigned ones. Float to integer saturates, Min and Max are the IR's, complex numbers are structs
// with the products and quotients of package ir.
//
// # Memory
//
// Arrays that a kernel does not store to are const and restrict, so that they are loaded through
// the read-only path. Local arrays are a thread's, and lie in registers once the loops over them
// are unrolled. Shared arrays are static up to MostStatic bytes a block, above that parts of
// dynamic shared memory.
//
// Atomic additions of which a whole warp's go to one place are summed by shuffles and added once.
// (A segmented sum over the lanes that __match_any_sync groups would save atomics where few rows
// share a warp. It costs several rounds for each addition, and is to be measured before it is
// used.)
//
// # Failure
//
// A thread that fails writes the code to the status word, by a compare-and-swap so that the first
// wins and alone writes its coordinates, and ends. Barriers and shuffles wait for those of the
// block's or warp's threads that have not ended; what a shuffle gives of one that has is undefined,
// and of no matter as the leaf fails.
//
// # Emulation
//
// Emulated is the same text for a C++ compiler of the host: kernels run on the CPU, block after
// block, so that tests need no GPU. See emulation.h.
//
// # Files
//
//	file.go       a file, and the kernels in it
//	kernel.go     one kernel while it is printed: parameters, shared memory
//	stmt.go       statements
//	loop.go       loops
//	expr.go       what expressions in CUDA have of their own; the rest is emit/clike
//	values.go     integers whose arithmetic may wrap
//	prelude.go    the helpers, one file each in prelude/
//	builtin.go    Prelude's kernels: fills and scans
//	emulation.go  kernels on a CPU, by emulation.h
package cuda
