package kernels

/*
#include "arena.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"distaff/io/tcs"
)

// Arena is where a rank's leaves get memory: results, which become tensors', and
// workspaces. It counts bytes against the rank's limit. Its methods may be called
// from several goroutines at once.
//
// Blocks of 256 KiB and more are mapped, those of 4 MiB and more aligned to and
// advised for huge pages; they grow without copying.
type Arena struct {
	limit *tcs.Limit
	c     *C.dst_arena
	leaks atomic.Int64
}

// Poisoned has Alloc fill memory with a byte that makes large numbers: where a result has them,
// something read what nothing wrote. Tests set it.
var Poisoned atomic.Bool

const poison = 0x41

// NewArena is an arena that counts against limit; nil only counts.
func NewArena(limit *tcs.Limit) *Arena {
	if limit == nil {
		limit = tcs.NewLimit(0)
	}
	a := &Arena{limit: limit}
	used, peak := limit.Counters()
	// The C side holds the counters as long as it exists.
	pins := new(runtime.Pinner)
	pins.Pin(used)
	pins.Pin(peak)
	a.c = C.dst_arena_new((*C.int64_t)(unsafe.Pointer(used)), (*C.int64_t)(unsafe.Pointer(peak)),
		C.int64_t(limit.Max()))
	if a.c == nil {
		panic("BUG: kernels: no memory for an arena")
	}
	// Published blocks hold the arena by their free functions.
	runtime.AddCleanup(a, func(c *C.dst_arena) {
		C.dst_arena_delete(c)
		pins.Unpin()
	}, a.c)
	return a
}

var unlimited = sync.OnceValue(func() *Arena { return NewArena(nil) })

// Limit is the limit that the arena counts against.
func (a *Arena) Limit() *tcs.Limit { return a.limit }

// Alloc is memory for bytes, holding anything, aligned to 64 bytes; what names it
// in a refusal (a *tcs.MemoryError, or a *tcs.Error with exit code 5). The caller
// holds the one reference. It is for results that a leaf writes in full: with
// Reuse, repeats get the same pages again.
func (a *Arena) Alloc(bytes int64, what string) (*tcs.Memory, error) {
	var size C.int64_t
	var bySystem C.int
	ptr := C.dst_block_new(a.c, C.int64_t(bytes), &size, &bySystem)
	runtime.KeepAlive(a)
	if ptr == nil {
		return nil, a.refusal(what, bytes, a.limit.Used(), bySystem != 0)
	}
	if Poisoned.Load() {
		for k, b := 0, unsafe.Slice((*byte)(ptr), bytes); k < len(b); k++ {
			b[k] = poison
		}
	}
	return a.adopt(ptr, int64(size)), nil
}

// refusal is the error of memory that was not given.
func (a *Arena) refusal(what string, bytes, used int64, bySystem bool) error {
	if bySystem || a.limit.Max() == 0 {
		return &tcs.Error{Exit: 5,
			Msg: fmt.Sprintf("%s takes %s, which the system does not give; %s is in use", what,
				tcs.Size(bytes), tcs.Size(used))}
	}
	return &tcs.MemoryError{What: what, Want: bytes, Used: used, Max: a.limit.Max()}
}

// Reuse says whether blocks of 16 KiB and more that are freed are kept for later calls, as
// repeats of one statement want: fresh memory costs page faults. What is kept
// stays within the limit but is not counted in it, until Reuse(false) gives it
// back to the system.
func (a *Arena) Reuse(on bool) {
	v := C.int(0)
	if on {
		v = 1
	}
	C.dst_arena_reuse(a.c, v)
	runtime.KeepAlive(a)
}

// Live is the number of blocks that leaves and tensors hold.
func (a *Arena) Live() int64 {
	defer runtime.KeepAlive(a)
	return int64(C.dst_arena_live(a.c))
}

// Pooled is the bytes kept for reuse.
func (a *Arena) Pooled() int64 {
	defer runtime.KeepAlive(a)
	return int64(C.dst_arena_pooled(a.c))
}

// Leaks is the number of blocks that leaves which returned well neither
// published nor freed. It stays 0 unless a compiler of leaves is wrong.
func (a *Arena) Leaks() int64 { return a.leaks.Load() }

// adopt makes a block that was taken from a call memory of a tensor.
func (a *Arena) adopt(ptr unsafe.Pointer, size int64) *tcs.Memory {
	return tcs.Foreign(ptr, size, func() error {
		C.dst_block_free(a.c, ptr)
		runtime.KeepAlive(a)
		return nil
	})
}
