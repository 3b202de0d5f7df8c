package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"slices"
)

// pool keeps freed device memory for later calls, because an allocation by the driver waits for the
// device. The wait costs the time of several kernels.
type pool struct {
	sizes map[pointer]int64 // sizes of the blocks in use
	list  []freed           // sorted by size
	kept  int64             // number of bytes in list
	epoch uint64            // number of times that all kernels were waited for
	// functions that evict arrays whose contents can be recreated; each returns false if it finds
	// none
	evict []func() bool
}

// freed is a block in a pool.
type freed struct {
	p     pointer
	size  int64
	epoch uint64 // the epoch at its release; kernels launched earlier may still use it
}

// poolShare limits the pool to 1/poolShare of the device's memory.
const poolShare = 4

// blockSize returns the number of bytes to ask the driver for. Rounding up in steps makes similar
// sizes equal, so that blocks can be reused.
func blockSize(bytes int64) int64 {
	step := int64(512)
	switch {
	case bytes >= 1<<20:
		step = 2 << 20
	case bytes >= 1<<14:
		step = 1 << 14
	}
	return max((bytes+step-1)/step*step, step)
}

// take returns a block of at least size bytes from the pool. If the pool has only smaller or much
// larger blocks, ok is false. If recycled is true, kernels that were launched earlier may still use
// the block.
func (p *pool) take(size int64) (at pointer, recycled, ok bool) {
	i, _ := slices.BinarySearchFunc(p.list, size,
		func(f freed, size int64) int { return int(min(max(f.size-size, -1), 1)) })
	if i == len(p.list) || p.list[i].size > size+size/4 {
		return 0, false, false
	}
	f := p.list[i]
	p.list = slices.Delete(p.list, i, i+1)
	p.kept -= f.size
	p.sizes[f.p] = f.size
	return f.p, f.epoch == p.epoch, true
}

// noteIdle records that no kernel is running. The kernels that may have used the pool's blocks have
// ended, so these blocks no longer count as recycled.
func (p *pool) noteIdle() { p.epoch++ }

func (d *driver) alloc(bytes int64, what string) (pointer, error) {
	p := &d.pool
	if p.sizes == nil {
		p.sizes = map[pointer]int64{}
	}
	if bytes < 0 || bytes > 1<<48 {
		free, total := d.memInfo()
		return 0, &MemoryError{What: what, Want: bytes, Free: free, Total: total,
			Device: d.desc.name}
	}
	size := blockSize(bytes)
	if at, recycled, ok := p.take(size); ok {
		d.recycled = d.recycled || recycled
		return at, nil
	}
	for {
		var at C.dst_cu_ptr
		rc := C.cu_mem_alloc(d.lib.fn, &at, C.size_t(size))
		if rc == 0 {
			p.sizes[pointer(at)] = size
			return pointer(at), nil
		}
		if rc != cuOutOfMemory {
			return 0, d.check(rc, "cuMemAlloc")
		}
		if p.kept > 0 {
			if err := d.trim(0); err != nil {
				return 0, err
			}
		} else if !slices.ContainsFunc(p.evict, func(f func() bool) bool { return f() }) {
			free, total := d.memInfo()
			return 0, &MemoryError{What: what, Want: bytes, Free: free, Total: total,
				Device: d.desc.name}
		}
	}
}

func (d *driver) free(at pointer) error {
	p := &d.pool
	size, ok := p.sizes[at]
	if !ok {
		panic(fmt.Sprintf("BUG: cuda: %#x is freed, and was not allocated", uint64(at)))
	}
	delete(p.sizes, at)
	if d.lost != nil {
		return nil
	}
	i, _ := slices.BinarySearchFunc(p.list, size,
		func(f freed, size int64) int { return int(min(max(f.size-size, -1), 1)) })
	p.list = slices.Insert(p.list, i, freed{at, size, p.epoch})
	p.kept += size
	if most := d.desc.memory / poolShare; p.kept > most {
		return d.trim(most)
	}
	return nil
}

func (d *driver) onFull(f func() bool) { d.pool.evict = append(d.pool.evict, f) }

// trim returns memory of the pool to the driver, the largest blocks first, until at most keep bytes
// are left. The driver waits for kernels that use the memory.
func (d *driver) trim(keep int64) error {
	p := &d.pool
	for p.kept > keep {
		f := p.list[len(p.list)-1]
		p.list = p.list[:len(p.list)-1]
		p.kept -= f.size
		if err := d.check(C.cu_mem_free(d.lib.fn, C.dst_cu_ptr(f.p)), "cuMemFree"); err != nil {
			return err
		}
	}
	return nil
}
