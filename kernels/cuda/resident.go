package cuda

import (
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"distaff/io/tcs"
)

// store has the arrays that stay on a device between calls: those of tensors of which the caller
// says that they do not change (Backend.Resident). Nothing else tells a tensor's memory from other
// data at the same address later on. Its methods are called within the device's do.
type store struct {
	dev     device
	tensors map[*tcs.Tensor]*tenant
	arrays  []*resident
	clock   uint64
	up      atomic.Int64 // bytes of arguments that were copied to the device
	down    atomic.Int64 // and of results that were copied from there
	// what the host has of an array whose device's is newer is overwritten, so that who reads it
	// without fetching it shows
	spoils bool
}

// tenant is a tensor that stays.
type tenant struct {
	alias  *tcs.Tensor // holds the memory of the arrays: no other data come to lie there
	arrays []*resident
	times  int // how often it was asked for
	pinned bool
	left   bool // what leaves store to its values comes to the host when it is fetched
	unread bool // nobody reads it any more
}

// resident is an array that stays, from its first use on.
type resident struct {
	host  unsafe.Pointer
	bytes int64
	at    pointer // 0: not on the device
	refs  int     // tensors that have it
	calls int     // that use it
	pins  int     // tensors that have it and are pinned
	lefts int     // tensors that have it for their values and are left
	newer bool    // the device's is what counts: the host's is old
	last  uint64  // the clock at its last use
}

func newStore(dev device) *store {
	return &store{dev: dev, tensors: map[*tcs.Tensor]*tenant{}}
}

// keep has a tensor stay.
func (s *store) keep(t *tcs.Tensor) {
	if e := s.tensors[t]; e != nil {
		e.times++
		return
	}
	e := &tenant{times: 1}
	s.tensors[t] = e
	s.enter(e, t)
}

// pin has a tensor that stays never leave for want of memory.
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

// leave has what leaves store to the values of a tensor that stays come to the host when it is
// fetched.
func (s *store) leave(t *tcs.Tensor) {
	if e := s.tensors[t]; e != nil && !e.left {
		e.left = true
		if r := e.values(t); r != nil {
			r.lefts++
		}
	}
}

// values is the array that a tensor has its values in.
func (e *tenant) values(t *tcs.Tensor) *resident {
	for _, r := range e.arrays {
		if r.host == t.Vals.Ptr {
			return r
		}
	}
	return nil
}

// fetch brings what leaves stored to a tensor's memory to the host.
func (s *store) fetch(t *tcs.Tensor) error {
	for _, l := range t.Levels {
		if err := errors.Join(s.settle(l.Pos.Ptr, l.Pos.Len*int64(l.Pos.Width)),
			s.settle(l.Crd.Ptr, l.Crd.Len*int64(l.Crd.Width))); err != nil {
			return err
		}
	}
	return s.settle(t.Vals.Ptr, t.Vals.Len*int64(t.Vals.Width))
}

// settle brings what the device has newer of memory of the host's there.
func (s *store) settle(host unsafe.Pointer, bytes int64) error {
	for _, r := range s.arrays {
		if r.newer && r.overlaps(host, bytes) {
			if err := s.bring(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// newer tells whether the device has newer contents of some memory of the host's.
func (s *store) newer(host unsafe.Pointer, bytes int64) bool {
	return slices.ContainsFunc(s.arrays,
		func(r *resident) bool { return r.newer && r.overlaps(host, bytes) })
}

func (r *resident) overlaps(host unsafe.Pointer, bytes int64) bool {
	return uintptr(r.host) < uintptr(host)+uintptr(bytes) &&
		uintptr(host) < uintptr(r.host)+uintptr(r.bytes)
}

// bring copies an array to the host.
func (s *store) bring(r *resident) error {
	if !r.newer {
		return nil
	}
	if err := s.download(r.host, r.at, r.bytes); err != nil {
		return err
	}
	r.newer = false
	return nil
}

// outdate notes that the device has what counts of an array.
func (s *store) outdate(r *resident) {
	r.newer = true
	if s.spoils {
		old := unsafe.Slice((*byte)(r.host), r.bytes)
		for k := range old {
			old[k] = 0xa5
		}
	}
}

// download copies what a leaf made to the host.
func (s *store) download(host unsafe.Pointer, at pointer, bytes int64) error {
	s.down.Add(bytes)
	return s.dev.download(host, at, bytes)
}

// enter notes the arrays of a tensor.
func (s *store) enter(e *tenant, t *tcs.Tensor) {
	e.alias = t.Alias()
	for l := range t.Levels {
		s.enterArray(e, t.Levels[l].Pos)
		s.enterArray(e, t.Levels[l].Crd)
	}
	s.enterArray(e, t.Vals)
	if e.pinned {
		for _, r := range e.arrays {
			r.pins++
		}
	}
	if r := e.values(t); e.left && r != nil {
		r.lefts++
	}
}

func (s *store) enterArray(e *tenant, a tcs.Array) {
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
	r := &resident{host: a.Ptr, bytes: bytes, refs: 1}
	s.arrays = append(s.arrays, r)
	e.arrays = append(e.arrays, r)
}

// forget ends what keep began. unread says that nobody reads the tensor any more.
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
	return s.quit(e)
}

// quit gives up the arrays of a tensor.
func (s *store) quit(e *tenant) error {
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
		s.arrays = slices.DeleteFunc(s.arrays, func(x *resident) bool { return x == r })
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

// drop takes an array off the device, after it has brought what counts to the host. It can come
// again.
func (s *store) drop(r *resident) error {
	if r.at == 0 {
		return nil
	}
	if err := s.bring(r); err != nil {
		return err
	}
	at := r.at
	r.at = 0
	return s.dev.free(at)
}

// use is where memory of the host lies on the device, which it is copied to if need be, with
// the array that it is a part of, until done is called of that; nil where it does not stay. The
// contents of memory that is fresh are not asked for.
func (s *store) use(host unsafe.Pointer, bytes int64, fresh bool, what string) (pointer, *resident,
	error) {
	r := s.around(host, bytes)
	if r == nil {
		return 0, nil, nil
	}
	s.clock++
	r.last = s.clock
	if r.at == 0 {
		if err := s.settle(r.host, r.bytes); err != nil { // of arrays that have a part of it
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

// upload copies an argument to the device.
func (s *store) upload(at pointer, host unsafe.Pointer, bytes int64) error {
	s.up.Add(bytes)
	return s.dev.upload(at, host, bytes)
}

// around is an array that stays in which such memory lies: it itself, where there is one.
func (s *store) around(host unsafe.Pointer, bytes int64) (found *resident) {
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

// done ends what use began. Where the array holds what the host's does not, it is dropped.
func (s *store) done(r *resident, valid bool) error {
	r.calls--
	if valid && r.refs > 0 {
		return nil
	}
	r.newer = r.newer && valid
	return s.drop(r)
}

// changed drops the arrays that overlap memory of the host that was written to, but for except.
func (s *store) changed(host unsafe.Pointer, bytes int64, except *resident) error {
	for _, r := range s.arrays {
		if r != except && r.overlaps(host, bytes) {
			r.newer = false
			if err := s.drop(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewritten drops the arrays that overlap those of a tensor. What the driver refuses to free
// belongs to a device that is lost, as the next call tells.
func (s *store) rewritten(t *tcs.Tensor) {
	for _, l := range t.Levels {
		s.changed(l.Pos.Ptr, l.Pos.Len*int64(l.Pos.Width), nil)
		s.changed(l.Crd.Ptr, l.Crd.Len*int64(l.Crd.Width), nil)
	}
	s.changed(t.Vals.Ptr, t.Vals.Len*int64(t.Vals.Width), nil)
}

// renew notes the arrays that a tensor has got from a leaf. made are those that are on the
// device already: they stay there, and taken tells which. A device that is lost shows at the next
// call: what the leaf made is whole.
func (s *store) renew(t *tcs.Tensor,
	made map[unsafe.Pointer]pointer) (taken map[pointer]*resident) {
	e := s.tensors[t]
	if e == nil {
		return nil
	}
	old := *e
	e.arrays = nil
	s.enter(e, t)
	taken = map[pointer]*resident{}
	for _, r := range e.arrays {
		if at := made[r.host]; at != 0 && r.at == 0 {
			r.at = at
			taken[at] = r
		}
	}
	s.quit(&old)
	return taken
}

// evict drops the array that was used least recently, by no call at hand, and that is not pinned;
// false where there is none.
func (s *store) evict() bool {
	var least *resident
	for _, r := range s.arrays {
		if r.at != 0 && r.calls == 0 && r.pins == 0 && (least == nil || r.last < least.last) {
			least = r
		}
	}
	return least != nil && s.drop(least) == nil
}
