package cuda

/*
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// stage holds two buffers, called halves, for all copies between host and device. They are in
// pinned memory if possible. While the device copies one half, the CPU fills or empties the other
// half. The tensors' own memory is not pinned: pinning takes longer than the copy, and the memory
// may be a mapped file that shrinks.
type stage struct {
	half        [2]unsafe.Pointer
	busy        [2]C.dst_cu_handle // events: the copy from or to the half is complete
	used        [2]bool            // the event was recorded and not waited for
	cur         int                // the half that is filled now
	fill        int64              // number of bytes in that half
	interrupted bool               // a download was interrupted, and may still write to the halves
}

// halfBytes is the size of a half.
const halfBytes = 8 << 20

// start allocates the buffers. If pinned memory is not available, it uses ordinary memory, which is
// slower.
func (s *stage) start(d *driver) C.int {
	for k := range s.half {
		var half unsafe.Pointer
		if C.cu_host_alloc(d.lib.fn, &half, halfBytes, 0) != 0 || half == nil {
			if half = C.malloc(halfBytes); half == nil {
				return cuOutOfMemory
			}
		}
		s.half[k] = half
	}
	return 0
}

// repair makes the stage usable after an interrupted download: it waits until the copies that the
// driver already queued are complete, and empties the stage.
func (s *stage) repair(d *driver) error {
	if !s.interrupted {
		return nil
	}
	for _, stream := range []C.dst_cu_handle{d.uploads, d.compute} {
		if err := d.check(C.cu_stream_sync(d.lib.fn, stream), "cuStreamSynchronize"); err != nil {
			return err
		}
	}
	s.interrupted, s.fill, s.used = false, 0, [2]bool{}
	return nil
}

// switchHalf makes the other half of the staging buffer current. It waits until the last copy from
// or to this half is complete. The copies of the previous half run on the given stream. switchHalf
// records an event there, so that a later call can wait for these copies.
func (s *stage) switchHalf(d *driver, stream C.dst_cu_handle) error {
	if err := d.check(C.cu_event_record(d.lib.fn, s.busy[s.cur], stream),
		"cuEventRecord"); err != nil {
		return err
	}
	s.used[s.cur] = true
	s.cur, s.fill = 1-s.cur, 0
	return s.waitHalf(d, s.cur)
}

// waitHalf waits until the copy of a half is complete.
func (s *stage) waitHalf(d *driver, k int) error {
	if !s.used[k] {
		return nil
	}
	s.used[k] = false
	return d.check(C.cu_event_sync(d.lib.fn, s.busy[k]), "cuEventSynchronize")
}

func (d *driver) upload(dst pointer, src unsafe.Pointer, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if err := d.yieldToKernels(); err != nil {
		return err
	}
	s := &d.stage
	if err := s.repair(d); err != nil {
		return err
	}
	for off := int64(0); off < bytes; {
		if s.fill == halfBytes {
			if err := s.switchHalf(d, d.uploads); err != nil {
				return err
			}
		}
		n := min(bytes-off, halfBytes-s.fill)
		at := unsafe.Add(s.half[s.cur], s.fill)
		move(at, unsafe.Add(src, off), n)
		rc := C.cu_upload(d.lib.fn, C.dst_cu_ptr(dst)+C.dst_cu_ptr(off), at, C.size_t(n), d.uploads)
		if err := d.check(rc, "cuMemcpyHtoDAsync"); err != nil {
			return err
		}
		// The next part starts at a cache line of its own.
		s.fill = min((s.fill+n+63)&^63, halfBytes)
		off += n
	}
	d.pending = true
	return nil
}

func (d *driver) download(dst unsafe.Pointer, src pointer, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	s := &d.stage
	if err := s.repair(d); err != nil {
		return err
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	// The halves can be reused only after the uploads from them are complete.
	if err := s.switchHalf(d, d.uploads); err != nil {
		return err
	}
	if err := s.waitHalf(d, 1-s.cur); err != nil {
		return err
	}
	s.interrupted = true
	parts := (bytes + halfBytes - 1) / halfBytes
	for k := int64(0); k <= parts; k++ {
		if k < parts {
			off := k * halfBytes
			if err := s.fetch(d, int(k%2), src+pointer(off),
				min(bytes-off, halfBytes)); err != nil {
				return err
			}
		}
		if k > 0 {
			off, half := (k-1)*halfBytes, (k-1)%2
			if err := d.check(C.cu_event_sync(d.lib.fn, s.busy[half]),
				"cuEventSynchronize"); err != nil {
				return err
			}
			move(unsafe.Add(dst, off), s.half[half], min(bytes-off, halfBytes))
		}
	}
	s.interrupted = false
	return nil
}

// fetch starts a copy of the given number of bytes from the device to half, one of the two buffers.
func (s *stage) fetch(d *driver, half int, src pointer, bytes int64) error {
	rc := C.cu_download(d.lib.fn, s.half[half], C.dst_cu_ptr(src), C.size_t(bytes), d.compute)
	if err := d.check(rc, "cuMemcpyDtoHAsync"); err != nil {
		return err
	}
	return d.check(C.cu_event_record(d.lib.fn, s.busy[half], d.compute), "cuEventRecord")
}

// moveAlone is a size in bytes. If a copy is smaller, move uses one thread. Otherwise move may use
// several threads, because one thread is slower than the bus.
const moveAlone = 1 << 20

// move copies memory that does not overlap.
func move(dst, src unsafe.Pointer, n int64) {
	parts := min(int64(runtime.GOMAXPROCS(0)), 4, n/(moveAlone/2))
	if n < moveAlone || parts < 2 {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		return
	}
	var all sync.WaitGroup
	step := (n/parts + 63) &^ 63
	for off := int64(0); off < n; off += step {
		all.Go(func() {
			k := min(step, n-off)
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, off)), k),
				unsafe.Slice((*byte)(unsafe.Add(src, off)), k))
		})
	}
	all.Wait()
}
