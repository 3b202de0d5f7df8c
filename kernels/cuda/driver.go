package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/io/tcs"
	"distaff/kernels"
)

// driver is a device of the NVIDIA driver. Kernels run in one stream, in the order of their
// launches; what goes up is copied in another, so that it overlaps them.
type driver struct {
	lib     *library
	desc    description
	runner  *kernels.Runner
	context C.dst_cu_handle

	compute, uploads C.dst_cu_handle // streams
	uploaded         C.dst_cu_handle // event: what went up so far is there
	computed         C.dst_cu_handle // event: what was launched so far has ended
	from, to         C.dst_cu_handle // events that measure
	pending          bool            // something goes up for which kernels have not waited
	recycled         bool            // memory was given out that kernels may still use

	math  map[string]mathHandle // by the names of libraries
	stage stage
	pool  pool
	lost  *FaultError
	what  string // the leaf that ran last, for the words of a fault
}

// drivers are the devices in use by a process, each once: it has one thread and one set of streams.
var drivers struct {
	sync.Mutex
	all map[*library]map[int]*driver
}

// openDevice makes the device of a number ready.
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
	d := &driver{lib: lib, desc: desc, runner: kernels.NewRunner()}
	d.runner.Do(func() { err = d.start() })
	if err != nil {
		d.runner.Close()
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
	streamAlone  = 1 // does not wait for the default stream
	eventNoClock = 2
)

// start makes the context, which is the device's primary one, current to the thread, and the
// streams.
func (d *driver) start() error {
	fail := func(rc C.int) error {
		return &SetupError{fmt.Sprintf("GPU %d (%s) cannot be used: %s%s", d.desc.index, d.desc.name,
			d.lib.text(int(rc)), insteadCPU)}
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
		var made C.dst_cu_handle // C must not see memory that points to Go's
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

func (d *driver) always(f func()) { d.runner.Do(f) }

func (d *driver) describe() description { return d.desc }

// do sets the context each time: a library that a leaf calls may have set another.
func (d *driver) do(f func() error) (err error) {
	d.runner.Do(func() {
		if d.lost != nil {
			later := *d.lost
			later.Later = true
			err = &later
			return
		}
		var current C.dst_cu_handle
		if C.cu_context_current(d.lib.fn, &current) != 0 || current != d.context {
			if err = d.check(C.cu_context_set(d.lib.fn, d.context), "cuCtxSetCurrent"); err != nil {
				return
			}
		}
		err = f()
	})
	return err
}

// faults are the results that say that a kernel went wrong, after which the context is of no use.
var faults = map[int]bool{214: true, 700: true, 702: true, 710: true, 713: true, 714: true,
	715: true, 716: true, 717: true, 718: true, 719: true, 721: true, 999: true}

// check is the error of a call's result.
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

// await has kernels that are launched from now on see what went up.
func (d *driver) await() error {
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

// yield has what goes up from now on wait for the kernels that were launched, where it goes to
// memory that these may use.
func (d *driver) yield() error {
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
	if err := d.await(); err != nil {
		return err
	}
	return d.check(C.cu_set8(d.lib.fn, C.dst_cu_ptr(dst), C.uchar(b), C.size_t(bytes), d.compute),
		"cuMemsetD8Async")
}

func (d *driver) copy(dst, src pointer, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if err := d.await(); err != nil {
		return err
	}
	return d.check(C.cu_copy(d.lib.fn, C.dst_cu_ptr(dst), C.dst_cu_ptr(src), C.size_t(bytes),
		d.compute), "cuMemcpyDtoDAsync")
}

// attributeShared is the function attribute that lets a launch have more shared memory than
// every GPU has.
const attributeShared = 8

func (d *driver) launch(l launch) error {
	if l.grid > emitcuda.MaxGrid {
		return &SetupError{fmt.Sprintf(
			"kernel %s of %s wants %d blocks, and a GPU runs %d at most: cut the statement over more ranks",
			l.kernel, l.what, l.grid, int64(emitcuda.MaxGrid))}
	}
	f, err := l.module.(*image).function(l.kernel)
	if err != nil {
		return err
	}
	if l.shared > 0 {
		if rc := C.cu_function_attribute(d.lib.fn, f, attributeShared, C.int(l.shared)); rc != 0 {
			return &SetupError{fmt.Sprintf(
				"kernel %s of %s wants %s of shared memory a block, which %s has not: choose smaller tiles or workspaces",
				l.kernel, l.what, tcs.Size(l.shared), d.desc.name)}
		}
	}
	if err := d.await(); err != nil {
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
	if err := d.await(); err != nil {
		return err
	}
	err := d.check(C.cu_stream_sync(d.lib.fn, d.compute), "cuStreamSynchronize")
	d.pool.settled()
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
	if err := d.await(); err != nil {
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
