package kernels

/*
#include <stdlib.h>
#include "dl.h"
*/
import "C"

import (
	"context"
	"runtime"
	"sync"
	"unsafe"

	"distaff/io/tcs"

	"golang.org/x/sys/unix"
)

// Leaf is a compiled function over tensors. Several goroutines may call it at the same time, each
// with its own result tensors.
type Leaf interface {
	// Call runs the leaf on args, which are in the order that its compiler chose. bounds are the
	// half-open ranges of its loops.
	//
	// The arrays of args keep their addresses, except arrays that the leaf publishes. Published
	// arrays are stored in their tensors, which own them. The caller sets the Width of every array
	// before the call, including the arrays that will be published. A leaf can give a result the
	// array of another argument if both have an equal pattern; then the two tensors share it.
	//
	// Errors: *tcs.MemoryError, *DivideError, *BoundError, *SpaceError, *PatternError; a
	// *FaultError if the leaf was abandoned; and ctx's error if ctx ended before the call. ctx does
	// not interrupt a running leaf. After an error no array was published.
	Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env Env) error
	Close() error
}

// Env is the environment of a call.
type Env struct {
	Threads int      // number of threads of this call, at least 1
	Arena   *Arena   // source of its memory; nil means an arena without a limit
	Vars    []string // names of the coordinates that the leaf reports when it fails
	What    string   // the statement, for messages
	Runner  *Runner  // the thread to run on; nil means the caller's
	// Progress, if not nil, receives the progress of the leaf. The interpreter and GPUs do not
	// report progress.
	Progress *Progress
}

// cLeaf is a leaf written in C: a function in a library or, if lib is nil, one that is linked into
// the program.
type cLeaf struct {
	mu     sync.Mutex
	fn     unsafe.Pointer
	lib    *Library
	values []byte // numbers of the statement for the environment of each call (see emitc.Values)
}

func (f *cLeaf) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lib
	f.lib, f.fn = nil, nil
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaves--
	return l.unload()
}

func (f *cLeaf) Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env Env) error {
	if env.Threads < 1 {
		panic("BUG: kernels: a leaf called with no thread")
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	fn, lib := f.fn, f.lib
	f.mu.Unlock()
	if fn == nil {
		panic("BUG: kernels: a closed leaf called")
	}
	if env.Arena == nil {
		env.Arena = unlimited()
	}
	var err error
	if env.Runner != nil {
		err = callOn(env.Runner, fn, args, bounds, f.values, env)
	} else {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err = call(fn, args, bounds, f.values, &env)
	}
	if _, left := err.(*FaultError); left && lib != nil {
		lib.keep()
	}
	return err
}

// callOn runs fn on a runner's thread.
func callOn(r *Runner, fn unsafe.Pointer, args []*tcs.Tensor, bounds [][2]int64, values []byte,
	env Env) (err error) {
	r.Do(func() { err = call(fn, args, bounds, values, &env) })
	return err
}

// call runs fn on the current thread.
func call(fn unsafe.Pointer, args []*tcs.Tensor, bounds [][2]int64, values []byte,
	env *Env) error {
	pins := new(runtime.Pinner)
	f := newFrame(args, bounds, values, pins)
	c := f.call
	if env.Progress != nil {
		pins.Pin(env.Progress) // C keeps the pointer while the leaf runs
		env.Progress.begin()
		defer env.Progress.end()
	}
	rc := int(C.dst_run(fn, f.args, f.bounds, f.values, c, env.Arena.c, C.int32_t(env.Threads),
		(*C.dst_progress)(unsafe.Pointer(env.Progress.counts()))))
	if rc == C.DST_STOPPED {
		keepAll(args, env.Arena, pins)
		return &FaultError{env.What, unix.Signal(c.fault.signal), uint64(c.fault.address)}
	}
	defer pins.Unpin()
	defer C.free(unsafe.Pointer(c))
	if rc == 0 {
		f.publish(args, env.Arena)
	}
	if left := int64(C.dst_call_finish(c)); rc == 0 {
		env.Arena.leaks.Add(left)
	}
	runtime.KeepAlive(args)
	runtime.KeepAlive(env.Arena)
	if rc == 0 {
		return nil
	}
	return failure(rc, c, env)
}

// abandoned holds everything that abandoned leaves may still access, so that it is never freed.
var abandoned sync.Map

// keepAll keeps the memory of a call forever.
func keepAll(args []*tcs.Tensor, arena *Arena, pins *runtime.Pinner) {
	for _, t := range args {
		abandoned.Store(t.Alias(), true)
	}
	abandoned.Store(arena, true)
	abandoned.Store(pins, true)
}

// frame holds the C structures of one call. They are in one block of C memory.
type frame struct {
	call    *C.dst_call // start of the memory
	args    **C.dst_tensor
	bounds  *[2]C.int64_t
	values  *C.char
	tensors []C.dst_tensor
	levels  [][]C.dst_level
}

// newFrame allocates the C structures of a call, and fills them from the arguments. It pins the
// arguments' memory that is on the Go heap. This memory stays pinned until the caller calls
// pins.Unpin.
func newFrame(args []*tcs.Tensor, bounds [][2]int64, values []byte,
	pins *runtime.Pinner) *frame {
	nlevels := 0
	for _, t := range args {
		nlevels += len(t.Levels)
	}
	tensorSize, levelSize := unsafe.Sizeof(C.dst_tensor{}), unsafe.Sizeof(C.dst_level{})
	// The structures have equal alignment and follow one another.
	pointersAt := unsafe.Sizeof(C.dst_call{})
	tensorsAt := pointersAt + uintptr(len(args))*unsafe.Sizeof(uintptr(0))
	levelsAt := tensorsAt + uintptr(len(args))*tensorSize
	boundsAt := levelsAt + uintptr(nlevels)*levelSize
	valuesAt := boundsAt + uintptr(len(bounds))*unsafe.Sizeof([2]C.int64_t{})
	size := valuesAt + uintptr(len(values))
	// The memory is zeroed, because Go's collector looks at the old value when a pointer is stored.
	mem := C.calloc(1, C.size_t(size+1))
	if mem == nil {
		panic("BUG: kernels: no memory for a call's arguments")
	}
	f := &frame{call: (*C.dst_call)(mem), levels: make([][]C.dst_level, 0, len(args))}
	f.args = (**C.dst_tensor)(unsafe.Add(mem, pointersAt))
	f.tensors = unsafe.Slice((*C.dst_tensor)(unsafe.Add(mem, tensorsAt)), len(args))
	all := unsafe.Slice((*C.dst_level)(unsafe.Add(mem, levelsAt)), nlevels)
	f.bounds = (*[2]C.int64_t)(unsafe.Add(mem, boundsAt))
	f.values = (*C.char)(unsafe.Add(mem, valuesAt))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(f.values)), len(values)), values)
	for i, b := range bounds {
		unsafe.Slice(f.bounds, len(bounds))[i] = [2]C.int64_t{C.int64_t(b[0]), C.int64_t(b[1])}
	}
	for i, t := range args {
		mine := all[:len(t.Levels):len(t.Levels)]
		all = all[len(t.Levels):]
		f.levels = append(f.levels, mine)
		c := &f.tensors[i]
		unsafe.Slice(f.args, len(args))[i] = c
		c.order, c.nlevels = C.int32_t(t.Order()), C.int32_t(len(mine))
		c.levels = (*C.dst_level)(unsafe.SliceData(mine))
		setArray(&c.vals, t.Vals, pins)
		for l := range mine {
			mine[l].size, mine[l].offset = C.int64_t(t.Levels[l].Size),
				C.int64_t(t.Levels[l].Offset)
			setArray(&mine[l].pos, t.Levels[l].Pos, pins)
			setArray(&mine[l].crd, t.Levels[l].Crd, pins)
		}
	}
	return f
}

// setArray stores an array's address and length in its C structure.
func setArray(c *C.dst_array, a tcs.Array, pins *runtime.Pinner) {
	if a.Ptr != nil {
		pins.Pin(a.Ptr) // does nothing outside of the Go heap
	}
	c.ptr, c.len, c.first = a.Ptr, C.int64_t(a.Len), C.int64_t(a.First)
}

// arrays calls the function visit for each array of args, with the array's tensor, its Go structure
// and its C structure.
func (f *frame) arrays(args []*tcs.Tensor,
	visit func(t *tcs.Tensor, a *tcs.Array, c *C.dst_array)) {
	for i, t := range args {
		for l := range t.Levels {
			visit(t, &t.Levels[l].Pos, &f.levels[i][l].pos)
			visit(t, &t.Levels[l].Crd, &f.levels[i][l].crd)
		}
		visit(t, &t.Vals, &f.tensors[i].vals)
	}
}

// publish gives the tensors the arrays that the leaf stored in its C arguments.
func (f *frame) publish(args []*tcs.Tensor, arena *Arena) {
	var owner map[unsafe.Pointer]*tcs.Tensor // owners of the arrays before the call
	taken := map[unsafe.Pointer]*tcs.Memory{}
	type change struct {
		a *tcs.Array
		c *C.dst_array
	}
	var changes []change
	f.arrays(args, func(t *tcs.Tensor, a *tcs.Array, c *C.dst_array) {
		if c.ptr == a.Ptr {
			a.Len, a.First = int64(c.len), int64(c.first)
			return
		}
		if owner == nil {
			owner = owners(args)
		}
		changes = append(changes, change{a, c})
		if a.Width == 0 {
			panic("BUG: kernels: a leaf published an array whose width the caller did not set")
		}
		if c.ptr == nil {
			return
		}
		if from := owner[c.ptr]; from != nil {
			t.ShareArray(from, c.ptr)
			return
		}
		if m := taken[c.ptr]; m != nil { // two results with one pattern
			t.Hold(m)
			return
		}
		bytes := c.len * C.int64_t(a.Width)
		size := C.dst_call_take(f.call, c.ptr, bytes)
		if size < bytes {
			panic("BUG: kernels: a leaf published memory that is not its own, or is shorter " +
				"than it says")
		}
		taken[c.ptr] = arena.adopt(c.ptr, int64(size))
		t.Hold(taken[c.ptr])
	})
	for _, m := range taken {
		m.Release() // the tensors have references of their own
	}
	for _, ch := range changes {
		ch.a.Ptr, ch.a.Len, ch.a.First = ch.c.ptr, int64(ch.c.len), int64(ch.c.first)
	}
}

// owners maps the address of every array to its tensor.
func owners(args []*tcs.Tensor) map[unsafe.Pointer]*tcs.Tensor {
	m := map[unsafe.Pointer]*tcs.Tensor{}
	for _, t := range args {
		for _, l := range t.Levels {
			m[l.Pos.Ptr], m[l.Crd.Ptr] = t, t
		}
		m[t.Vals.Ptr] = t
	}
	delete(m, nil)
	return m
}
