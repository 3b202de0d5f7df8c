// Package cuda prints the kernels of a leaf as CUDA C++ that people can read.
//
// # The generated file
//
// File prints the helpers that the kernels use (one file each in prelude/) and one kernel for each
// ir.Launch. Kernels says how to call the kernels. The rest of the leaf belongs to the host, which
// runs it from the IR. The text has no #include. NVRTC compiles it as it is, and clang compiles it
// after declarations of CUDA's built-in functions. Prelude is a second file, the same for all
// leaves. It has the kernels for fills and scans. The functions Fill and Scan return the launches
// of these kernels. Products is a file for each type, with a kernel that multiplies dense matrices.
//
// # Meaning
//
// The CUDA code has the same meaning as package interp, with the same liberties as the C code of
// emit/c: a product may be fused with a sum, atomic additions may happen in any order, and loads
// may move. In CUDA, the overflow of signed integers is undefined, but in the IR it wraps around.
// Coordinates and positions do not overflow and are added as signed integers. Arithmetic on
// integers that come from tensors' values uses unsigned integers. Conversions from float to integer
// saturate. Min and Max are the IR's. Complex numbers are structs, with the products and quotients
// of package ir.
//
// # Memory
//
// Arrays that a kernel does not store to are const and restrict, so that they are loaded through
// the read-only path. Local arrays belong to a thread, and are in registers after the loops over
// them have been unrolled. Shared arrays are static up to MostStatic bytes in a block. If they need
// more, they are parts of dynamic shared memory.
//
// If all threads of a warp add atomically to the same place, the terms are summed by shuffles and
// added once. (A segmented sum over the groups of lanes that __match_any_sync finds would save
// atomics if only a few rows share a warp. It costs several rounds for each addition, and has not
// been measured.)
//
// # Failure
//
// A thread that fails writes the code to the status word and ends. It uses a compare-and-swap, so
// that only the first failing thread writes its coordinates. Barriers and shuffles wait only for
// threads of the block or warp that have not ended. The result of a shuffle with a thread that has
// ended is undefined, which does not matter because the leaf fails.
//
// # Emulation
//
// Emulated prints the same text for a C++ compiler of the host. The kernels then run on the CPU,
// one block after another, so that tests need no GPU. See emulation.h.
//
// # Files
//
//	file.go       a file, and the kernels in it
//	kernel.go     one kernel while it is printed: parameters, shared memory
//	stmt.go       statements
//	loop.go       loops
//	expr.go       expressions that differ from C; the others are in emit/clike
//	stream.go     loads of elements that a kernel reads once
//	values.go     integers whose arithmetic may wrap around
//	prelude.go    the helpers, one file each in prelude/
//	builtin.go    Prelude's kernels: fills and scans
//	products.go   kernels that multiply dense matrices
//	emulation.go  kernels on a CPU, by emulation.h
package cuda
