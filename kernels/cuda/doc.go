// Package cuda is the backend for NVIDIA GPUs. NVRTC compiles the kernels of a leaf, the CUDA
// driver runs them, and the rest of the leaf runs on the host.
//
// # Model
//
// A leaf for a GPU (codegen/simt) consists of Launches and a host part around them.
// codegen/emit/cuda prints the bodies of the Launches as kernels. The host part handles scalars,
// allocations, fills, copies, scans and conditions. A Backend compiles the kernels for the GPU's
// architecture (Build) and caches them together with the C leaves. A Leaf's Call interprets the
// host part in Go, statement by statement, over arrays in device memory.
//
// The device is an interface with two implementations. A driver is a GPU. It opens libcuda at run
// time, so the program starts on machines without it. An emulated device is the CPU and is used by
// tests: a C++ compiler compiles the same source (see codegen/emit/cuda, Emulation), and guards
// surround each array. All other code is shared by both. So tests run the same code as a GPU,
// except for the calls of the driver.
//
// # Threads
//
// Calls of leaves on a device take turns. A call runs on its caller's thread. A CUDA context is
// current to a thread, so a call first makes the device's context current.
//
// # Memory
//
// An argument's array is copied to the device at its first use in a call. If a kernel stores to the
// array, it is copied back at the end of the leaf. Arrays that only the host part reads are not
// copied. Published arrays are copied to host memory of the call's arena. At the end of the call
// its device memory returns to a pool.
//
// Copies use two buffers of pinned memory and a stream of their own, so the arguments of the next
// kernel are copied while a kernel runs. A tensor stays on the device between calls only if the
// caller asks for it with Backend.Resident. The backend cannot know this by itself: at the next
// call a tensor's memory may hold other data at the same address and of the same length. After
// Backend.Leave, values that leaves store to a resident tensor stay on the device only. They are
// copied back when the caller asks for them (Backend.Fetch), and before the array leaves the
// device.
//
// Memory computes before a call how much device memory the call needs. If an allocation does not
// fit, the device first evicts resident arrays. If that is not enough, the call fails with a
// *MemoryError, which has the figures.
//
// # Failure
//
// A thread that fails (ir.Fail) ends its leaf with one of the errors of package kernels. A kernel
// that faults destroys the device's context. Its call returns a *FaultError, and so does every
// later call on this device in this process.
//
// # Files
//
//	backend.go   Backend and Leaf
//	nvrtc.go     compilation, and the cache
//	program.go   a leaf's host part and kernels
//	call.go      a call, and the results that it hands out
//	block.go     the arrays of a call, including its arguments
//	host.go      statements of the host part
//	eval.go      expressions of the host part
//	launch.go    kernels, fills and scans
//	products.go  matrix products by libraries, or by kernels that all leaves share
//	time.go      timed calls
//	resident.go  tensors that stay on the device
//	plan.go      the memory that a call needs
//	device.go    the interface of a device
//	driver.go    a GPU
//	library.go   the driver's library
//	image.go     compiled modules in the driver
//	pool.go      device memory
//	stage.go     copies to and from the device
//	libraries.go cuBLAS and cuSPARSE
//	emulated.go  a GPU emulated on the CPU
//	emulatedproducts.go  matrix products of the emulated GPU
//	probe.go     what GPU software and devices the machine has
//	errors.go    the errors
package cuda
