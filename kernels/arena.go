package kernels

/*
#include "arena.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"distaff/io/tcs"
)

// Arena allocates the memory that a rank's leaves use: workspaces, and the memory of results, which
// later belongs to tensors. Arena counts the allocated bytes against the rank's limit. Several
// goroutines may call its methods at the same time.
//
// Blocks of 256 KiB or more are mapped. A mapped block grows without copying its contents, unless
// its contents move to a block that was kept for reuse (see Reuse). Blocks of 4 MiB or more are
// also aligned to huge pages, and Arena advises the system to use huge pages for them.
type Arena struct {
	limit *tcs.Limit
	c     *C.dst_arena
	leaks atomic.Int64
}

// Poisoned makes Alloc fill new memory with the byte poison. In float32 and complex64 this gives
// 12.08, and in the other types numbers above 1e6. If a result has one of these numbers,
// uninitialized memory was read. Only tests set Poisoned.
var Poisoned atomic.Bool

const poison = 0x41

// NewArena returns an arena that counts against limit. If limit is nil, it only counts.
func NewArena(limit *tcs.Limit) *Arena {
	if limit == nil {
		limit = tcs.NewLimit(0)
	}
	a := &Arena{limit: limit}
	used, peak := limit.Counters()
	// The C code holds the counters while it exists.
	pins := new(runtime.Pinner)
	pins.Pin(used)
	pins.Pin(peak)
	a.c = C.dst_arena_new((*C.int64_t)(unsafe.Pointer(used)), (*C.int64_t)(unsafe.Pointer(peak)),
		C.int64_t(limit.Max()))
	if a.c == nil {
		panic("BUG: kernels: no memory for an arena")
	}
	// The free function of a published block holds the arena.
	runtime.AddCleanup(a, func(c *C.dst_arena) {
		C.dst_arena_delete(c)
		pins.Unpin()
	}, a.c)
	return a
}

// unlimited returns the arena that a leaf in C uses if the Env of the call has no arena.
var unlimited = sync.OnceValue(func() *Arena { return NewArena(nil) })

// Limit returns the limit that the arena counts against.
func (a *Arena) Limit() *tcs.Limit { return a.limit }

// Alloc returns memory of the given number of bytes, aligned to 64 bytes. The memory is not
// initialized, so every byte must be written before it is read. what names the purpose of the
// memory in an error. The error is a *tcs.MemoryError or a *tcs.Error with exit code 5. The caller
// owns the only reference.
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

// refusal returns the error for memory that was refused.
func (a *Arena) refusal(what string, bytes, used int64, bySystem bool) error {
	if bySystem || a.limit.Max() == 0 {
		return tcs.RefusedBySystem(what, bytes, used, nil)
	}
	return &tcs.MemoryError{What: what, Want: bytes, Used: used, Max: a.limit.Max()}
}

// Reuse controls whether freed blocks of 16 KiB or more (at most 512) are kept for later calls.
// Keeping blocks saves time when a statement is repeated, because fresh memory costs page faults.
// The arena frees kept blocks if a new block of 16 KiB or more would not fit next to them under the
// limit. The arena's used size does not include kept blocks. Reuse(false) frees the kept blocks.
func (a *Arena) Reuse(on bool) {
	v := C.int(0)
	if on {
		v = 1
	}
	C.dst_arena_reuse(a.c, v)
	runtime.KeepAlive(a)
}

// Live returns the number of blocks that leaves and tensors hold.
func (a *Arena) Live() int64 {
	defer runtime.KeepAlive(a)
	return int64(C.dst_arena_live(a.c))
}

// Pooled returns the number of bytes that are kept for reuse.
func (a *Arena) Pooled() int64 {
	defer runtime.KeepAlive(a)
	return int64(C.dst_arena_pooled(a.c))
}

// Leaks returns the number of blocks that successful leaves neither published nor freed. It stays 0
// unless the compiler of leaves has a bug.
func (a *Arena) Leaks() int64 { return a.leaks.Load() }

// adopt returns a tcs.Memory for a block of the arena, so that a tensor can own the block.
func (a *Arena) adopt(ptr unsafe.Pointer, size int64) *tcs.Memory {
	return tcs.Foreign(ptr, size, func() error {
		C.dst_block_free(a.c, ptr)
		runtime.KeepAlive(a)
		return nil
	})
}
