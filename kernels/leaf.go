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
)

// Leaf is a compiled function over tensors. It may be called from several
// goroutines at once, each on its own result tensors.
type Leaf interface {
	// Call runs the leaf on args, in the order of its compiler, with the
	// half-open ranges of its loops.
	//
	// Arrays of args keep their addresses, except those that the leaf publishes:
	// they are stored in their tensors, which own them. The caller sets the Width
	// of every array beforehand, of those to be published too. Where a leaf gives
	// a result the array of another argument (an equal pattern), the result shares
	// it.
	//
	// Errors: *tcs.MemoryError, *DivideError, *BoundError, ErrOverflow, and the
	// context's if it ended before the call; a running leaf is not interrupted.
	// After an error no array was published.
	Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env Env) error
	Close() error
}

// Env is what a call runs in.
type Env struct {
	Threads int      // of this call, at least 1
	Arena   *Arena   // where its memory comes from; nil: an arena without a limit
	Vars    []string // names of the coordinates that the leaf gives when it fails
	What    string   // what is computed, for messages: the statement
	Runner  *Runner  // the thread to run on; nil: the caller's
}

// cLeaf is a function in a library, or one linked into the program (lib nil).
type cLeaf struct {
	mu  sync.Mutex
	fn  unsafe.Pointer
	lib *Library
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
	fn := f.fn
	f.mu.Unlock()
	if fn == nil {
		panic("BUG: kernels: a closed leaf called")
	}
	if env.Arena == nil {
		env.Arena = unlimited()
	}
	if env.Runner != nil {
		var err error
		env.Runner.Do(func() { err = call(fn, args, bounds, &env) })
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return call(fn, args, bounds, &env)
}

// call runs fn on the thread that it is called on.
func call(fn unsafe.Pointer, args []*tcs.Tensor, bounds [][2]int64, env *Env) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	f := newFrame(args, bounds, &pins)
	defer f.free()
	c := (*C.dst_call)(C.malloc(C.size_t(unsafe.Sizeof(C.dst_call{}))))
	defer C.free(unsafe.Pointer(c))
	C.dst_call_init(c, env.Arena.c, C.int32_t(env.Threads))
	rc := int(C.dst_run(fn, f.args, f.bounds, c))
	if rc == 0 {
		f.publish(c, args, env.Arena)
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

// frame holds the C structures of one call, in one piece of C memory.
type frame struct {
	mem     unsafe.Pointer
	args    **C.dst_tensor
	bounds  *[2]C.int64_t
	tensors []C.dst_tensor
	levels  [][]C.dst_level
}

func newFrame(args []*tcs.Tensor, bounds [][2]int64, pins *runtime.Pinner) *frame {
	nlevels := 0
	for _, t := range args {
		nlevels += len(t.Levels)
	}
	tensorSize, levelSize := unsafe.Sizeof(C.dst_tensor{}), unsafe.Sizeof(C.dst_level{})
	pointers := uintptr(len(args)) * unsafe.Sizeof(uintptr(0))
	tensors := uintptr(len(args)) * tensorSize
	levels := uintptr(nlevels) * levelSize
	size := pointers + tensors + levels + uintptr(len(bounds))*16
	// Zeroed: storing a pointer makes Go's collector look at what it replaces.
	f := &frame{mem: C.calloc(1, C.size_t(size+16))}
	if f.mem == nil {
		panic("BUG: kernels: no memory for a call's arguments")
	}
	f.args = (**C.dst_tensor)(f.mem)
	f.tensors = unsafe.Slice((*C.dst_tensor)(unsafe.Add(f.mem, pointers)), len(args))
	all := unsafe.Slice((*C.dst_level)(unsafe.Add(f.mem, pointers+tensors)), nlevels)
	f.bounds = (*[2]C.int64_t)(unsafe.Add(f.mem, pointers+tensors+levels))
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
			mine[l].size, mine[l].offset = C.int64_t(t.Levels[l].Size), C.int64_t(t.Levels[l].Offset)
			setArray(&mine[l].pos, t.Levels[l].Pos, pins)
			setArray(&mine[l].crd, t.Levels[l].Crd, pins)
		}
	}
	return f
}

func setArray(c *C.dst_array, a tcs.Array, pins *runtime.Pinner) {
	if a.Ptr != nil {
		pins.Pin(a.Ptr) // does nothing outside the Go heap
	}
	c.ptr, c.len, c.first = a.Ptr, C.int64_t(a.Len), C.int64_t(a.First)
}

func (f *frame) free() { C.free(f.mem) }

// arrays calls do with every array of the call, in Go and in C.
func (f *frame) arrays(args []*tcs.Tensor, do func(t *tcs.Tensor, a *tcs.Array, c *C.dst_array)) {
	for i, t := range args {
		for l := range t.Levels {
			do(t, &t.Levels[l].Pos, &f.levels[i][l].pos)
			do(t, &t.Levels[l].Crd, &f.levels[i][l].crd)
		}
		do(t, &t.Vals, &f.tensors[i].vals)
	}
}

// publish moves the arrays that the leaf stored in its arguments into the
// tensors.
func (f *frame) publish(c *C.dst_call, args []*tcs.Tensor, arena *Arena) {
	owner := map[unsafe.Pointer]*tcs.Tensor{}
	for _, t := range args {
		for l := range t.Levels {
			owner[t.Levels[l].Pos.Ptr], owner[t.Levels[l].Crd.Ptr] = t, t
		}
		owner[t.Vals.Ptr] = t
	}
	taken := map[unsafe.Pointer]bool{}
	f.arrays(args, func(t *tcs.Tensor, a *tcs.Array, ca *C.dst_array) {
		if ca.ptr != a.Ptr {
			if a.Width == 0 {
				panic("BUG: kernels: a leaf published an array whose width the caller did not set")
			}
			if from := owner[ca.ptr]; from != nil && ca.ptr != nil {
				t.Share(from)
			} else if ca.ptr != nil && !taken[ca.ptr] {
				size := int64(C.dst_call_take(c, ca.ptr, ca.len*C.int64_t(a.Width)))
				if size < int64(ca.len)*int64(a.Width) {
					panic("BUG: kernels: a leaf published memory that is not its own, or is shorter than it says")
				}
				taken[ca.ptr] = true
				m := arena.adopt(ca.ptr, size)
				t.Hold(m)
				m.Release()
			}
			a.Ptr = ca.ptr
		}
		a.Len, a.First = int64(ca.len), int64(ca.first)
	})
}
