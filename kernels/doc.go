// Package kernels turns C source into leaves and calls them.
//
// # Model
//
// A leaf is one compiled C function, of one signature whatever it computes
// (dst.h):
//
//	int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
//
// It gets the tensors of a statement, results first or wherever its compiler put
// them, the bounds of its loops, and an environment: a number of threads, an
// allocator, a place to say where it failed.
//
// A Backend makes leaves of compiled statements (codegen.Unit), for one target. C is that of CPUs:
// package cc compiles; Open loads the object and keeps it; Library.Leaf finds a function in it;
// Leaf.Call calls it. An object is loaded from memory that nothing else can write to after its hash
// was checked, so what runs is what was compiled. Package interpret is the backend that checks
// every access, package cuda that of NVIDIA GPUs, package target leads from a target's name to its
// backend, and package builtin has leaves for machines without a compiler. Package backendtest is
// the suite that a Backend passes.
//
// # Memory
//
// Arrays that go into a leaf belong to their tensors. Go memory among them is
// pinned for the call. What a leaf allocates comes from the call's Arena, which
// counts it against the rank's limit (tcs.Limit) with everything else the rank
// holds. An array that the leaf publishes, by storing its address in a tensor,
// belongs to that tensor when Call returns, and tensor.Close gives it back. All
// else that a leaf allocated is freed when it returns, and counted as a leak if it
// returned well (Arena.Leaks): generated code frees what it allocates.
//
// # Threads
//
// OpenMP keeps a pool of threads for each thread that enters a parallel region.
// A rank therefore calls its leaves from one thread: its own goroutine's, if
// that is locked to a thread, or a Runner's.
//
// # Products of matrices
//
// A leaf computes products of dense operands by the gemm of its environment, which is that of
// OpenBLAS, BLIS or MKL where this machine has one (gemm.c), and what that does not take by loops
// of its own. The leaf's threads each call it for a part of the product.
//
// # Failure
//
// A leaf reports what can go wrong by its return value, which Call turns into
// errors: tcs.MemoryError, DivideError, BoundError, PatternError. A leaf that faults is left in
// its middle: Call returns a FaultError, and so does every later call of a leaf in the process.
//
// # Files
//
//	backend.go     Backend, and that of CPUs
//	leaf.go        a leaf, and its call
//	library.go     shared objects
//	registered.go  leaves inside the program
//	gemm.go        the BLAS that leaves call
//	arena.go       memory for leaves
//	threads.go     how many threads
//	runner.go      threads that leaves run on
//	guard.go       leaves that are stopped, and files that shrink under them
//	fail.go        errors that a leaf ends with
//	anysize.go     leaves of unknown sizes
//	doctor.go      what the machine has
package kernels
