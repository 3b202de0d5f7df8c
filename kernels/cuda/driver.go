package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/io/tensor"
)

// driver is a GPU, controlled through the NVIDIA driver. Kernels run in one stream in the order of
// their launches. Uploads use a second stream, so they overlap with kernels.
type driver struct {
	lib     *library
	desc    description
	turn    sync.Mutex // held by the goroutine that uses the device
	context C.dst_cu_handle

	compute, uploads C.dst_cu_handle // streams
	uploaded         C.dst_cu_handle // event: all uploads so far are complete
	computed         C.dst_cu_handle // event: everything launched so far is complete
	from, to         C.dst_cu_handle // events of the timer
	// there are uploads that the compute stream does not wait for yet
	pending  bool
	recycled bool // allocated memory may still be in use by earlier kernels

	math  map[string]mathHandle // by name of the library
	stage stage
	pool  pool
	lost  *FaultError
	what  string // the leaf that ran last, for messages about a fault
}

// drivers holds the devices that this process uses. Each device is in it only once, because a
// device has one set of streams.
var drivers struct {
	sync.Mutex
	all map[*library]map[int]*driver
}

// openDevice returns the device with the given index, and starts it at first use.
func openDevice(lib *library, index int) (*driver, error) {
	drivers.Lock()
	defer drivers.Unlock()
	if d := drivers.all[lib][index]; d != nil {
		return d, nil
	}
	desc, err := lib.find(index)
	if err != nil {
		return nil, err
	}
	if desc.count, err = lib.devices(); err != nil {
		return nil, err
	}
	d := &driver{lib: lib, desc: desc}
	if err := d.start(); err != nil {
		return nil, err
	}
	if drivers.all == nil {
		drivers.all = map[*library]map[int]*driver{}
	}
	if drivers.all[lib] == nil {
		drivers.all[lib] = map[int]*driver{}
	}
	drivers.all[lib][index] = d
	return d, nil
}

// Flags of streams and events.
const (
	streamAlone  = 1 // does not synchronize with the default stream
	eventNoClock = 2
)

// start makes the device's primary context, and creates the streams and events.
func (d *driver) start() error {
	runtime.LockOSThread() // the context is current to the thread
	defer runtime.UnlockOSThread()
	fail := func(rc C.int) error {
		return &SetupError{fmt.Sprintf("GPU %d (%s) cannot be used: %s%s", d.desc.index,
			d.desc.name, d.lib.text(int(rc)), insteadCPU)}
	}
	var dev C.dst_cu_device
	if rc := C.cu_device_get(d.lib.fn, &dev, C.int(d.desc.index)); rc != 0 {
		return fail(rc)
	}
	var context C.dst_cu_handle
	if rc := C.cu_context_retain(d.lib.fn, &context, dev); rc != 0 {
		return fail(rc)
	}
	d.context = context
	if rc := C.cu_context_set(d.lib.fn, d.context); rc != 0 {
		return fail(rc)
	}
	for _, s := range []*C.dst_cu_handle{&d.compute, &d.uploads} {
		// cgo forbids passing C a pointer into Go memory that contains Go pointers
		var made C.dst_cu_handle
		if rc := C.cu_stream_create(d.lib.fn, &made, streamAlone); rc != 0 {
			return fail(rc)
		}
		*s = made
	}
	events := map[*C.dst_cu_handle]C.uint{&d.uploaded: eventNoClock, &d.computed: eventNoClock,
		&d.from: 0, &d.to: 0,
		&d.stage.busy[0]: eventNoClock, &d.stage.busy[1]: eventNoClock}
	for e, flags := range events {
		var made C.dst_cu_handle
		if rc := C.cu_event_create(d.lib.fn, &made, flags); rc != 0 {
			return fail(rc)
		}
		*e = made
	}
	if rc := d.stage.start(d); rc != 0 {
		return fail(rc)
	}
	return nil
}

// always runs the function f while no other goroutine uses the device, even if the device is lost.
func (d *driver) always(f func()) {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.inContext(true, func() error { f(); return nil })
}

func (d *driver) describe() description { return d.desc }

// do runs the function f while no other goroutine uses the device, and returns its error. If the
// device is lost, it returns an error and does not run f.
func (d *driver) do(f func() error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	if d.lost != nil {
		later := *d.lost
		later.Later = true
		return &later
	}
	return d.inContext(false, f)
}

// inContext runs the function f on the caller's thread, with the device's context current to the
// thread, and returns its error. If the context cannot be made current, it runs f only if always is
// true. If the thread had another context, for example of a program that uses Distaff, inContext
// makes that context current again.
//
// The device has no thread of its own, because waking the thread for each call takes longer than a
// small kernel.
func (d *driver) inContext(always bool, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before C.dst_cu_handle
	if C.cu_context_current(d.lib.fn, &before) != 0 || before != d.context {
		rc := C.cu_context_set(d.lib.fn, d.context)
		if err := d.check(rc, "cuCtxSetCurrent"); err != nil && !always {
			return err
		}
		if before != nil {
			defer C.cu_context_set(d.lib.fn, before)
		}
	}
	return f()
}

// faults are the result codes after which check reports the device as lost. Most of them come from
// a faulting kernel.
var faults = map[int]bool{214: true, 700: true, 702: true, 710: true, 713: true, 714: true,
	715: true, 716: true, 717: true, 718: true, 719: true, 721: true, 999: true}

// check returns the error of a call's result code, or nil.
func (d *driver) check(rc C.int, call string) error {
	switch {
	case rc == 0:
		return nil
	case faults[int(rc)]:
		what := d.what
		if what == "" {
			what = "a leaf"
		}
		d.lost = &FaultError{What: what, Reason: d.lib.text(int(rc))}
		return d.lost
	}
	return &DriverError{Call: call, Code: int(rc), Text: d.lib.text(int(rc))}
}

// awaitUploads makes kernels that are launched from now on wait for the uploads so far.
func (d *driver) awaitUploads() error {
	if !d.pending {
		return nil
	}
	if err := d.check(C.cu_event_record(d.lib.fn, d.uploaded, d.uploads),
		"cuEventRecord"); err != nil {
		return err
	}
	d.pending = false
	return d.check(C.cu_stream_wait(d.lib.fn, d.compute, d.uploaded, 0), "cuStreamWaitEvent")
}

// yieldToKernels makes all later uploads wait for the kernels launched so far, if device memory
// that these kernels may still use was freed and allocated again. Otherwise yieldToKernels does
// nothing.
func (d *driver) yieldToKernels() error {
	if !d.recycled {
		return nil
	}
	d.recycled = false
	if err := d.check(C.cu_event_record(d.lib.fn, d.computed, d.compute),
		"cuEventRecord"); err != nil {
		return err
	}
	return d.check(C.cu_stream_wait(d.lib.fn, d.uploads, d.computed, 0), "cuStreamWaitEvent")
}

func (d *driver) set(dst pointer, b byte, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	return d.check(C.cu_set8(d.lib.fn, C.dst_cu_ptr(dst), C.uchar(b), C.size_t(bytes), d.compute),
		"cuMemsetD8Async")
}

func (d *driver) copy(dst, src pointer, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	return d.check(C.cu_copy(d.lib.fn, C.dst_cu_ptr(dst), C.dst_cu_ptr(src), C.size_t(bytes),
		d.compute), "cuMemcpyDtoDAsync")
}

// attributeShared is the function attribute that raises the limit of shared memory above the amount
// that every GPU has.
const attributeShared = 8

func (d *driver) launch(l launch) error {
	if l.grid > emitcuda.MaxGrid {
		return &SetupError{
			fmt.Sprintf(
				"kernel %s of %s needs %d blocks, but a GPU runs at most %d; use more ranks",
				l.kernel, l.what, l.grid, int64(emitcuda.MaxGrid))}
	}
	f, err := l.module.(*image).function(l.kernel)
	if err != nil {
		return err
	}
	if l.shared > 0 {
		if rc := C.cu_function_attribute(d.lib.fn, f, attributeShared, C.int(l.shared)); rc != 0 {
			return &SetupError{
				fmt.Sprintf(
					"kernel %s of %s needs %s of shared memory a block, which %s does not "+
						"have; choose smaller tiles or workspaces",
					l.kernel, l.what, tensor.Bytes(l.shared), d.desc.name)}
		}
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	d.what = l.what
	slots := (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(l.params)))
	rc := C.dst_cuda_launch(d.lib.fn, f, C.uint(l.grid), C.uint(l.threads), C.uint(l.shared),
		d.compute, C.int(len(l.params)), slots)
	return d.check(rc, "cuLaunchKernel")
}

func (d *driver) sync(what string) error {
	if what != "" {
		d.what = what
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	err := d.check(C.cu_stream_sync(d.lib.fn, d.compute), "cuStreamSynchronize")
	d.pool.noteIdle()
	return err
}

func (d *driver) memInfo() (free, total int64) {
	var f, t C.size_t
	if C.cu_mem_info(d.lib.fn, &f, &t) != 0 {
		return 0, 0
	}
	return int64(f) + d.pool.kept, int64(t)
}

func (d *driver) watch() error {
	if err := d.awaitUploads(); err != nil {
		return err
	}
	return d.check(C.cu_event_record(d.lib.fn, d.from, d.compute), "cuEventRecord")
}

func (d *driver) lap() (float64, error) {
	if err := d.check(C.cu_event_record(d.lib.fn, d.to, d.compute), "cuEventRecord"); err != nil {
		return 0, err
	}
	if err := d.check(C.cu_event_sync(d.lib.fn, d.to), "cuEventSynchronize"); err != nil {
		return 0, err
	}
	var ms C.float
	err := d.check(C.cu_event_elapsed(d.lib.fn, &ms, d.from, d.to), "cuEventElapsedTime")
	return float64(ms), err
}
