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

// stage is two buffers of pinned memory through which all copies go: while the device copies one,
// the CPU fills or empties the other. Memory of tensors itself is not pinned, which takes longer
// than to copy it, and may be of a file that shrinks.
type stage struct {
	half [2]unsafe.Pointer
	busy [2]C.dst_cu_handle // events: what was copied from the half has left it
	used [2]bool            // such a copy was started
	cur  int                // the half that is filled
	fill int64              // bytes in it
	torn bool               // a copy down was left in its middle, and may still write to the halves
}

// halfBytes is the size of a half.
const halfBytes = 8 << 20

// start gets the buffers. Memory that is not pinned serves too, more slowly.
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

// mend waits for what a copy that was refused has left under way.
func (s *stage) mend(d *driver) error {
	if !s.torn {
		return nil
	}
	for _, stream := range []C.dst_cu_handle{d.uploads, d.compute} {
		if err := d.check(C.cu_stream_sync(d.lib.fn, stream), "cuStreamSynchronize"); err != nil {
			return err
		}
	}
	s.torn, s.fill, s.used = false, 0, [2]bool{}
	return nil
}

// turn goes on to the other half, once it is empty.
func (s *stage) turn(d *driver, stream C.dst_cu_handle) error {
	if err := d.check(C.cu_event_record(d.lib.fn, s.busy[s.cur], stream),
		"cuEventRecord"); err != nil {
		return err
	}
	s.used[s.cur] = true
	s.cur, s.fill = 1-s.cur, 0
	return s.empty(d, s.cur)
}

// empty waits until a half has been copied.
func (s *stage) empty(d *driver, k int) error {
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
	if err := d.yield(); err != nil {
		return err
	}
	s := &d.stage
	if err := s.mend(d); err != nil {
		return err
	}
	for off := int64(0); off < bytes; {
		if s.fill == halfBytes {
			if err := s.turn(d, d.uploads); err != nil {
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
		// The next part begins at a line of its own.
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
	if err := s.mend(d); err != nil {
		return err
	}
	if err := d.await(); err != nil {
		return err
	}
	// The halves are of no use before what was uploaded from them has left.
	if err := s.turn(d, d.uploads); err != nil {
		return err
	}
	if err := s.empty(d, 1-s.cur); err != nil {
		return err
	}
	s.torn = true
	parts := (bytes + halfBytes - 1) / halfBytes
	for k := int64(0); k <= parts; k++ {
		if k < parts {
			off := k * halfBytes
			if err := s.fetch(d, int(k%2), src+pointer(off), min(bytes-off, halfBytes)); err != nil {
				return err
			}
		}
		if k > 0 {
			off, half := (k-1)*halfBytes, (k-1)%2
			if err := d.check(C.cu_event_sync(d.lib.fn, s.busy[half]), "cuEventSynchronize"); err != nil {
				return err
			}
			move(unsafe.Add(dst, off), s.half[half], min(bytes-off, halfBytes))
		}
	}
	s.torn = false
	return nil
}

// fetch starts to copy a part from the device to a half.
func (s *stage) fetch(d *driver, half int, src pointer, bytes int64) error {
	rc := C.cu_download(d.lib.fn, s.half[half], C.dst_cu_ptr(src), C.size_t(bytes), d.compute)
	if err := d.check(rc, "cuMemcpyDtoHAsync"); err != nil {
		return err
	}
	return d.check(C.cu_event_record(d.lib.fn, s.busy[half], d.compute), "cuEventRecord")
}

// moveAlone is the number of bytes from which on several threads copy: one does not keep up with
// the bus.
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
