// Package cuda is the backend of NVIDIA GPUs: it compiles the kernels of leaves by NVRTC, runs them
// by the CUDA driver, and the rest of a leaf on the host.
//
// # Model
//
// A leaf for a GPU (codegen/simt) has Launches, whose bodies codegen/emit/cuda prints as kernels,
// and around them a host part: scalars, allocations, fills, copies, scans, conditions. A Backend
// compiles the kernels (Build) and keeps them in the cache beside C leaves, for the GPU's
// architecture. A Leaf's Call follows the host part in Go, statement by statement, over arrays in
// the device's memory.
//
// The device is an interface with two implementations. A driver is a GPU: libcuda is opened at run
// time, so that the program starts where there is none. An emulated one is the CPU, for tests: the
// same source compiled by a C++ compiler (see codegen/emit/cuda, Emulation), with guards around
// each array. Everything else is one code for both, so that what tests see is what a GPU runs, but
// for the driver's own calls.
//
// # Threads
//
// A device has one thread, on which all that concerns it runs: a context is current to a thread.
// Calls of leaves take turns on it.
//
// # Memory
//
// An argument's array is copied up at its first use in a call, from there on it is the device's:
// where a kernel has stored to it, it is copied down as the leaf ends. Arrays that nobody on the
// device uses, such as those that the host part alone reads, stay where they are. Published arrays
// are copied down into memory of the call's arena. The device's memory of a call is given back to a
// pool when it ends.
//
// Copies go through two buffers of pinned memory, in a stream of their own: while a kernel runs,
// the arguments of the next go up. Tensors of which the caller says so (Backend.Resident) stay on
// the device between calls. Nothing less would do: a tensor's memory may hold other data at the
// next call, at the same address and of the same length. Values that leaves store to such a tensor
// may be left there (Backend.Leave): they are copied down when the caller says that the host reads
// them (Backend.Fetch), and before they leave the device.
//
// Memory tells before a call what it takes. Where the device has not as much, arrays that stay are
// dropped first; then it is a *MemoryError with the figures.
//
// # Failure
//
// A thread that fails (ir.Fail) ends its leaf with the errors of package kernels. A kernel that
// faults ends the device's context: the call is a *FaultError, and all later ones on this device,
// in this process.
//
// # Files
//
//	backend.go   Backend and Leaf
//	nvrtc.go     compiling, and the cache
//	program.go   a leaf's host part and kernels
//	call.go      a call, and what it hands out
//	block.go     arrays in a call, and the arguments' among them
//	host.go      statements of the host part
//	eval.go      its expressions
//	launch.go    kernels, fills and scans
//	products.go  products of matrices that libraries run
//	time.go      calls that are measured
//	resident.go  tensors that stay on the device
//	plan.go      the memory that a call takes
//	device.go    the interface of a device
//	driver.go    a GPU,
//	library.go   the driver's library,
//	image.go     its modules,
//	pool.go      its memory,
//	stage.go     and copies to and from it
//	libraries.go cuBLAS and cuSPARSE
//	emulated.go  a GPU on the CPU,
//	emulatedproducts.go  and its products of matrices
//	probe.go     what the machine has
//	errors.go    what can go wrong
package cuda
