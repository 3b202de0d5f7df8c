// Package kernels turns compiled statements into leaves and calls them.
//
// # Model
//
// A leaf is one compiled C function. All leaves have the same signature (dst.h):
//
//	int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
//
// The arguments are the tensors of a statement in the order that the compiler chose, the bounds of
// the leaf's loops, and an environment. The environment holds the number of threads, an allocator,
// and a place for the coordinates of a failure.
//
// A Backend makes leaves of compiled statements (codegen.Unit) for one target. C is the backend for
// CPUs: package cc compiles, Open loads an object and keeps it loaded, Library.Leaf finds a
// function in the object, and Leaf.Call calls the function. Open checks the object's hash. It loads
// the object from memory that nobody else can write to, so the code that runs is the code that was
// compiled. The other packages are:
//
//   - interpret, a backend that checks every access;
//   - cuda, the backend for NVIDIA GPUs;
//   - target, which maps the name of a target to its backend;
//   - builtin, leaves for machines without a compiler;
//   - backendtest, the test suite that every Backend passes;
//   - verified, which has tests verify the C of every leaf.
//
// # Memory
//
// Input arrays of a leaf belong to their tensors. Go memory among them is pinned during the call.
// The leaf allocates from the call's Arena, which counts the bytes against the rank's limit
// (tcs.Limit), as it does everything else that the rank holds. A leaf publishes an array by storing
// its address in a tensor. When Call returns, the array belongs to the tensor, which frees it in
// Close. All other memory of the leaf is freed when it returns. If the leaf succeeded, such memory
// counts as a leak (Arena.Leaks), because generated code frees its own allocations.
//
// # Threads
//
// OpenMP keeps one pool of threads for each thread that enters a parallel region. A rank therefore
// calls all its leaves from one thread: the thread of its own goroutine if that is locked to a
// thread, or the thread of a Runner.
//
// # Products of matrices
//
// A leaf computes products of dense operands with the gemm function of its environment. The
// function calls OpenBLAS, BLIS or MKL if this machine has one of them (gemm.c). Products that it
// does not support are computed by loops in the leaf. Each of the leaf's threads calls the function
// for its part of the product.
//
// # Failure
//
// A leaf reports expected failures by its return value. Call turns the value into an error:
// tcs.MemoryError, DivideError, BoundError, SpaceError or PatternError. A leaf that faults is
// abandoned: Call returns a FaultError, and so does every later call of a leaf in the process.
//
// # Files
//
//	backend.go     Backend, and the backend for CPUs
//	leaf.go        a leaf and its call
//	progress.go    how far a call is
//	library.go     shared objects
//	registered.go  leaves that are part of the program
//	gemm.go        the BLAS that leaves call
//	arena.go       memory for leaves
//	threads.go     the number of threads
//	runner.go      threads that leaves run on
//	guard.go       stopping leaves, and mapped files that shrink
//	fail.go        errors of leaves
//	anysize.go     leaves for unknown sizes
//	doctor.go      what the machine provides for leaves
package kernels
