package cuda

import (
	"unsafe"

	"distaff/codegen/ir"
)

// pointer is an address in a device's memory; 0 is none. Addresses of arrays' elements 0 may lie
// outside of any memory: a block of a tensor begins at a later one.
type pointer uint64

// slot is a parameter of a kernel, as its bytes lie in memory.
type slot [2]uint64

// device is where leaves run. Its methods but do and describe are called within do alone,
// which takes one function at a time: the driver's calls belong to a thread.
//
// What a launch, set or copy does is seen by all later calls; it may still be under way when they
// return, and what goes wrong in it may only show later, in sync at the latest.
type device interface {
	// do runs f on the device's thread. A device that is lost is an error, and f is not run.
	do(f func() error) error
	// always runs f on the device's thread, on a lost device too, which has no memory to free.
	always(f func())
	describe() description
	// alloc is memory of that many bytes, holding anything. Refusals are *MemoryError.
	alloc(bytes int64, what string) (pointer, error)
	// free gives memory back, for what comes after all that was launched so far.
	free(p pointer) error
	// upload copies to the device; what lies at src may change once it returns.
	upload(dst pointer, src unsafe.Pointer, bytes int64) error
	// download copies from the device, and returns when all is there.
	download(dst unsafe.Pointer, src pointer, bytes int64) error
	set(dst pointer, b byte, bytes int64) error
	copy(dst, src pointer, bytes int64) error
	// load makes a compiled image ready. A module is of use until it is unloaded.
	load(image []byte, what string) (module, error)
	// launch starts a kernel.
	launch(l launch) error
	// library makes one ready of those that schedules name (package strategy). Where it is not to be
	// had, the error is a *SetupError.
	library(name string) error
	// gemm and spmm start products by the libraries, which are ready.
	gemm(p matrixProduct) error
	spmm(p sparseProduct) error
	// sync waits for all that was started.
	sync(what string) error
	// onFull has f called where memory is short, until it returns false: it frees what could be had
	// again.
	onFull(f func() bool)
	// memInfo is the memory that is free, and all that the device has.
	memInfo() (free, total int64)
	// watch starts to measure, and lap gives the milliseconds of what was launched since.
	watch() error
	lap() (float64, error)
}

// module holds the kernels of a leaf on its device.
type module interface{ unload() error }

// description is what a device says of itself.
type description struct {
	name         string // "NVIDIA H100 80GB HBM3"
	arch         int    // compute capability: 90 for 9.0
	index, count int    // which of the machine's it is
	memory       int64  // bytes
}

// Local is the device that a rank takes which is number local among those of its machine: its
// GPUs are dealt out in turn. CUDA_VISIBLE_DEVICES is the driver's own matter.
func Local(local, devices int) int {
	if devices < 1 || local < 0 {
		return 0
	}
	return local % devices
}

// of is a scalar as a kernel takes it.
func of(l *ir.Lit) slot {
	var s slot
	p := unsafe.Pointer(&s)
	write(p, l)
	return s
}

// write writes a scalar's bytes to p.
func write(p unsafe.Pointer, l *ir.Lit) {
	switch l.Typ {
	case ir.Bool:
		*(*bool)(p) = l.I != 0
	case ir.Int32:
		*(*int32)(p) = int32(l.I)
	case ir.Int64:
		*(*int64)(p) = l.I
	case ir.Float32:
		*(*float32)(p) = float32(real(l.C))
	case ir.Float64:
		*(*float64)(p) = real(l.C)
	case ir.Complex64:
		*(*complex64)(p) = complex64(l.C)
	case ir.Complex128:
		*(*complex128)(p) = l.C
	default:
		panic("BUG: cuda: a scalar without a type")
	}
}

// fetch reads a scalar of type t at p.
func fetch(p unsafe.Pointer, t ir.Type) *ir.Lit {
	l := &ir.Lit{Typ: t}
	switch t {
	case ir.Bool:
		if *(*bool)(p) {
			l.I = 1
		}
	case ir.Int32:
		l.I = int64(*(*int32)(p))
	case ir.Int64:
		l.I = *(*int64)(p)
	case ir.Float32:
		l.C = complex(float64(*(*float32)(p)), 0)
	case ir.Float64:
		l.C = complex(*(*float64)(p), 0)
	case ir.Complex64:
		l.C = complex128(*(*complex64)(p))
	case ir.Complex128:
		l.C = *(*complex128)(p)
	default:
		panic("BUG: cuda: a scalar without a type")
	}
	return l
}
