package cuda

import (
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"distaff/io/tcs"
)

// store holds the arrays that stay on a device between calls. They belong to tensors that the
// caller declared resident (Backend.Resident). Without this declaration the store could not tell a
// tensor's memory from later data at the same address.
//
// All methods of store must be called within a function that is passed to device.do or
// device.always.
type store struct {
	dev     device
	tensors map[*tcs.Tensor]*residentTensor
	arrays  []*residentArray
	clock   uint64
	up      atomic.Int64 // argument bytes copied to the device
	down    atomic.Int64 // result bytes copied to the host
	// spoils makes the store overwrite the host's copy of an array when the device's copy becomes
	// newer. Tests set it to detect reads without a Fetch.
	spoils bool
}

// residentTensor is a tensor whose arrays stay on the device.
type residentTensor struct {
	alias  *tcs.Tensor // holds the arrays' memory, so that no other data get its address
	arrays []*residentArray
	times  int // number of calls of Resident without a Forget
	pinned bool
	left   bool // a call does not copy the values that it stores to the host (Backend.Leave)
	unread bool // nobody reads its values any more
}

// residentArray is an array that stays on the device from its first use on.
type residentArray struct {
	host  unsafe.Pointer
	bytes int64
	at    pointer // 0 if it is not on the device
	refs  int     // number of resident tensors with this array
	calls int     // number of running calls that use it
	pins  int     // number of pinned tensors with this array
	lefts int     // number of tensors that have it as their values and were given to Leave
	newer bool    // the device's copy is newer than the host's
	last  uint64  // clock at its last use
}

func newStore(dev device) *store {
	return &store{dev: dev, tensors: map[*tcs.Tensor]*residentTensor{}}
}

// keep makes a tensor resident.
func (s *store) keep(t *tcs.Tensor) {
	if e := s.tensors[t]; e != nil {
		e.times++
		return
	}
	e := &residentTensor{times: 1}
	s.tensors[t] = e
	s.addArrays(e, t)
}

func (s *store) pin(t *tcs.Tensor) {
	e := s.tensors[t]
	if e == nil || e.pinned {
		return
	}
	e.pinned = true
	for _, r := range e.arrays {
		r.pins++
	}
}

// leave lets t's values stay on the device at the end of a call (Backend.Leave), until fetch copies
// them to the host or the store drops their array. leave does nothing if t is not resident.
func (s *store) leave(t *tcs.Tensor) {
	if e := s.tensors[t]; e != nil && !e.left {
		e.left = true
		if r := e.values(t); r != nil {
			r.lefts++
		}
	}
}

// values returns the resident array that holds t's values, or nil if there is none.
func (e *residentTensor) values(t *tcs.Tensor) *residentArray {
	for _, r := range e.arrays {
		if r.host == t.Vals.Ptr {
			return r
		}
	}
	return nil
}

// fetch copies all values that leaves stored to a tensor's memory from the device to the host.
func (s *store) fetch(t *tcs.Tensor) error {
	for _, l := range t.Levels {
		if err := errors.Join(s.syncHost(l.Pos.Ptr, l.Pos.Len*int64(l.Pos.Width)),
			s.syncHost(l.Crd.Ptr, l.Crd.Len*int64(l.Crd.Width))); err != nil {
			return err
		}
	}
	return s.syncHost(t.Vals.Ptr, t.Vals.Len*int64(t.Vals.Width))
}

// syncHost copies values that are newer on the device back to the given host memory.
func (s *store) syncHost(host unsafe.Pointer, bytes int64) error {
	for _, r := range s.arrays {
		if r.newer && r.overlaps(host, bytes) {
			if err := s.copyBack(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// newer reports whether the device has newer contents of any part of the given host memory.
func (s *store) newer(host unsafe.Pointer, bytes int64) bool {
	return slices.ContainsFunc(s.arrays, func(r *residentArray) bool {
		return r.newer &&
			r.overlaps(host, bytes)
	})
}

func (r *residentArray) overlaps(host unsafe.Pointer, bytes int64) bool {
	return uintptr(r.host) < uintptr(host)+uintptr(bytes) &&
		uintptr(host) < uintptr(r.host)+uintptr(r.bytes)
}

// copyBack copies an array to the host if the device's copy is newer.
func (s *store) copyBack(r *residentArray) error {
	if !r.newer {
		return nil
	}
	if err := s.download(r.host, r.at, r.bytes); err != nil {
		return err
	}
	r.newer = false
	return nil
}

// markNewer records that the device's copy of an array is newer than the host's.
func (s *store) markNewer(r *residentArray) {
	r.newer = true
	if s.spoils {
		old := unsafe.Slice((*byte)(r.host), r.bytes)
		for k := range old {
			old[k] = 0xa5
		}
	}
}

// download copies device memory to the host and counts the bytes.
func (s *store) download(host unsafe.Pointer, at pointer, bytes int64) error {
	s.down.Add(bytes)
	return s.dev.download(host, at, bytes)
}

func (s *store) addArrays(e *residentTensor, t *tcs.Tensor) {
	e.alias = t.Alias()
	for l := range t.Levels {
		s.addArray(e, t.Levels[l].Pos)
		s.addArray(e, t.Levels[l].Crd)
	}
	s.addArray(e, t.Vals)
	if e.pinned {
		for _, r := range e.arrays {
			r.pins++
		}
	}
	if r := e.values(t); e.left && r != nil {
		r.lefts++
	}
}

func (s *store) addArray(e *residentTensor, a tcs.Array) {
	bytes := a.Len * int64(a.Width)
	if a.Ptr == nil || bytes == 0 {
		return
	}
	for _, r := range s.arrays {
		if r.host == a.Ptr && r.bytes == bytes {
			r.refs++
			e.arrays = append(e.arrays, r)
			return
		}
	}
	r := &residentArray{host: a.Ptr, bytes: bytes, refs: 1}
	s.arrays = append(s.arrays, r)
	e.arrays = append(e.arrays, r)
}

// forget undoes one call of keep for t. When all calls of keep are undone, it releases the tensor's
// arrays. If unread is true, nobody will read the tensor, so its values are not copied to the host.
func (s *store) forget(t *tcs.Tensor, unread bool) error {
	e := s.tensors[t]
	if e == nil {
		return nil
	}
	if e.times--; e.times > 0 {
		return nil
	}
	delete(s.tensors, t)
	e.unread = unread
	return s.removeArrays(e)
}

// removeArrays decrements the use count of each array of a tensor. It frees the device memory of
// the arrays that no other tensor uses. If the device's copy of such an array is newer and may
// still be read, removeArrays first copies it to the host.
func (s *store) removeArrays(e *residentTensor) error {
	var first error
	values := e.values(e.alias)
	for _, r := range e.arrays {
		if e.pinned {
			r.pins--
		}
		if e.left && r == values {
			r.lefts--
		}
		if r.refs--; r.refs > 0 {
			continue
		}
		r.newer = r.newer && !e.unread
		s.arrays = slices.DeleteFunc(s.arrays, func(x *residentArray) bool { return x == r })
		if err := s.drop(r); err != nil && first == nil {
			first = err
		}
	}
	e.arrays = nil
	if err := e.alias.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// drop copies an array to the host if the device's copy is newer, and then frees its device memory.
// A later use copies the array to the device again.
func (s *store) drop(r *residentArray) error {
	if r.at == 0 {
		return nil
	}
	if err := s.copyBack(r); err != nil {
		return err
	}
	at := r.at
	r.at = 0
	return s.dev.free(at)
}

// use returns the device address of the given host memory, and the resident array that contains
// this memory. If no resident array contains it, use returns 0 and nil. If the array is not on the
// device, use allocates it there and copies its contents. The string what names the array in the
// error of a failed allocation.
//
// If fresh is true, the caller does not need the contents of the given memory. In this case, use
// does not copy the contents of an array that consists of exactly this memory. Call endUse once for
// each call of use that returns an array.
func (s *store) use(host unsafe.Pointer, bytes int64, fresh bool, what string) (pointer,
	*residentArray, error) {
	r := s.around(host, bytes)
	if r == nil {
		return 0, nil, nil
	}
	s.clock++
	r.last = s.clock
	if r.at == 0 {
		if err := s.syncHost(r.host, r.bytes); err != nil { // another array may overlap it
			return 0, nil, err
		}
		at, err := s.dev.alloc(r.bytes, what)
		if err != nil {
			return 0, nil, err
		}
		r.at = at
		if !fresh || r.bytes > bytes {
			if err := s.upload(at, r.host, r.bytes); err != nil {
				return 0, nil, err
			}
		}
	}
	r.calls++
	return r.at + pointer(uintptr(host)-uintptr(r.host)), r, nil
}

// upload copies an argument to the device and counts the bytes.
func (s *store) upload(at pointer, host unsafe.Pointer, bytes int64) error {
	s.up.Add(bytes)
	return s.dev.upload(at, host, bytes)
}

// around returns a resident array that contains the given memory, or nil. If there is an array with
// exactly this address and size, around returns this array.
func (s *store) around(host unsafe.Pointer, bytes int64) (found *residentArray) {
	for _, r := range s.arrays {
		off := uintptr(host) - uintptr(r.host)
		if off == 0 && r.bytes == bytes {
			return r
		}
		if off < uintptr(r.bytes) && int64(off)+bytes <= r.bytes {
			found = r
		}
	}
	return found
}

// endUse ends one use of an array. If valid is false, the device's contents of the array are not
// correct. endUse drops the array if the contents are not correct, or if the array belongs to no
// tensor any more.
func (s *store) endUse(r *residentArray, valid bool) error {
	r.calls--
	if valid && r.refs > 0 {
		return nil
	}
	r.newer = r.newer && valid
	return s.drop(r)
}

// changed drops every device array that overlaps the given host memory, because the device's copy
// is out of date. It keeps the array that is passed as spared (nil if none). Call changed after
// host memory was written.
func (s *store) changed(host unsafe.Pointer, bytes int64, spared *residentArray) error {
	for _, r := range s.arrays {
		if r != spared && r.overlaps(host, bytes) {
			r.newer = false
			if err := s.drop(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewritten drops the device arrays that overlap the arrays of t, because their contents on the
// host have changed. It returns no error, because freeing device memory fails only if the device is
// lost, and the next call reports a lost device.
func (s *store) rewritten(t *tcs.Tensor) {
	for _, l := range t.Levels {
		s.changed(l.Pos.Ptr, l.Pos.Len*int64(l.Pos.Width), nil)
		s.changed(l.Crd.Ptr, l.Crd.Len*int64(l.Crd.Width), nil)
	}
	s.changed(t.Vals.Ptr, t.Vals.Len*int64(t.Vals.Width), nil)
}

// renew updates the record of tensor t after a leaf has given new arrays to t. made has the arrays
// that the leaf made on the device: it maps their host addresses to their device addresses. The
// store takes over an array of made if the array belongs to t and the store has no device copy of
// it yet. taken has the arrays that were taken over: it maps their device addresses to their new
// records. If t is not resident, taken is nil.
//
// renew does not report a lost device, because the leaf's results are complete. The next call
// reports it.
func (s *store) renew(t *tcs.Tensor, made map[unsafe.Pointer]pointer) (
	taken map[pointer]*residentArray) {
	e := s.tensors[t]
	if e == nil {
		return nil
	}
	old := *e
	e.arrays = nil
	s.addArrays(e, t)
	taken = map[pointer]*residentArray{}
	for _, r := range e.arrays {
		if at := made[r.host]; at != 0 && r.at == 0 {
			r.at = at
			taken[at] = r
		}
	}
	s.removeArrays(&old)
	return taken
}

// evict drops the least recently used array that no running call uses and that is not pinned. It
// returns false if every array is in use or pinned.
func (s *store) evict() bool {
	var least *residentArray
	for _, r := range s.arrays {
		if r.at != 0 && r.calls == 0 && r.pins == 0 && (least == nil || r.last < least.last) {
			least = r
		}
	}
	return least != nil && s.drop(least) == nil
}
