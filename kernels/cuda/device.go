package cuda

import (
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// pointer is an address in a device's memory; 0 means no address. The address of an array's element
// 0 may be outside of any memory, because the block of a tensor can start at a later element.
type pointer uint64

// slot holds the bytes of a scalar, for example a kernel parameter.
type slot [2]uint64

// device is the interface of a device that runs leaves. All driver calls must come from one thread.
// The methods "do" and "always" run a function on this thread, one function at a time. All other
// methods except "describe" may be called only from a function that one of the two runs.
//
// A launch, set or copy may still be running when the method returns. Its errors may only show in a
// later call, at the latest in sync. All later calls except upload see its effects. An upload may
// run at the same time, so call sync before an upload to memory that the operation uses.
type device interface {
	// do runs f while no other goroutine uses the device. If the device is lost, it returns an
	// error and does not run f.
	do(f func() error) error
	// always runs f in the same way, also if the device is lost.
	always(f func())
	describe() description
	// alloc returns uninitialized memory of the given number of bytes. The error is a *MemoryError
	// if there is not enough. what names the purpose.
	alloc(bytes int64, what string) (pointer, error)
	// free returns memory for reuse. Only operations that start after everything launched so far
	// may use it again.
	free(p pointer) error
	// upload copies to the device. The caller may change src once upload returns.
	upload(dst pointer, src unsafe.Pointer, bytes int64) error
	// download copies from the device and returns when the copy is complete.
	download(dst unsafe.Pointer, src pointer, bytes int64) error
	set(dst pointer, b byte, bytes int64) error
	copy(dst, src pointer, bytes int64) error
	// load loads a compiled image. The module is valid until it is unloaded.
	load(image []byte, what string) (module, error)
	// launch starts a kernel.
	launch(l launch) error
	// library opens and starts a library by the name that schedules use (package choice). The
	// error is a *SetupError if the library is not available.
	library(name string) error
	// gemm and spmm start a matrix product in a library, which must have been started (library).
	gemm(p matrixProduct) error
	spmm(p sparseProduct) error
	// sync waits for everything that was started.
	sync(what string) error
	// onFull registers f to be called when memory is short, repeatedly until it returns false. f
	// frees memory whose contents can be recreated.
	onFull(f func() bool)
	// memInfo returns the free memory and the total memory of the device, in bytes.
	memInfo() (free, total int64)
	// watch starts a timer, and lap returns the milliseconds of everything launched since.
	watch() error
	lap() (float64, error)
}

// module holds loaded kernels.
type module interface{ unload() error }

// description describes a device.
type description struct {
	name         string // "NVIDIA H100 80GB HBM3"
	arch         int    // compute capability: 90 for 9.0
	index, count int    // the device's number, and how many the machine has
	memory       int64  // bytes
}

// Local returns the index of the device that a rank uses. local is the rank's number on its
// machine, and devices the number of visible devices, which the ranks use in turn. The driver
// itself evaluates CUDA_VISIBLE_DEVICES.
func Local(local, devices int) int {
	if devices < 1 || local < 0 {
		return 0
	}
	return local % devices
}

func slotOf(l *ir.Lit) slot {
	var s slot
	p := unsafe.Pointer(&s)
	writeScalar(p, l)
	return s
}

// writeScalar stores a literal at p as an element of its type.
func writeScalar(p unsafe.Pointer, l *ir.Lit) {
	l.Typ.Store(p, tensor.Value{Type: l.Typ, I: l.I, C: l.C})
}

// readScalar reads a scalar of type t at p.
func readScalar(p unsafe.Pointer, t tensor.Type) *ir.Lit {
	v := t.Load(p)
	return &ir.Lit{Typ: t, I: v.I, C: v.C}
}
