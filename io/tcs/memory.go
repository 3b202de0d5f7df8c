package tcs

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/io/tensor"
)

// Limit counts allocated bytes, and refuses an allocation that would exceed its maximum.
// Several tensors and buffers share one Limit. A nil Limit counts nothing and refuses nothing.
type Limit struct {
	max        int64
	used, peak atomic.Int64
}

// NewLimit returns a limit of max bytes. If max <= 0, the limit only counts.
func NewLimit(max int64) *Limit { return &Limit{max: max} }

// MemoryError reports that an allocation would exceed the limit or the machine's memory (exit code
// 5).
type MemoryError struct {
	What            string // the purpose of the memory
	Want, Used, Max int64  // bytes
	Machine         bool   // Max is the machine's memory, not a limit that was set
	Hint            string // advice to the user, or ""
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf(
		"%s needs %s; %s are in use already, and the memory limit is %s (--memory-limit)",
		e.What, tensor.Bytes(e.Want), tensor.Bytes(e.Used), tensor.Bytes(e.Max))
	if e.Machine {
		s = fmt.Sprintf("%s needs %s, but the machine has only %s", e.What, tensor.Bytes(e.Want),
			tensor.Bytes(e.Max))
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// ExitCode returns 5.
func (e *MemoryError) ExitCode() int { return exitMemory }

// Reserve counts n bytes as used. If that would exceed the limit, it returns a *MemoryError and
// counts nothing. what names the purpose of the bytes in the error.
func (l *Limit) Reserve(n int64, what string) error {
	if l == nil {
		return nil
	}
	for {
		u := l.used.Load()
		if l.max > 0 && n > l.max-u {
			return &MemoryError{What: what, Want: n, Used: u, Max: l.max}
		}
		if l.used.CompareAndSwap(u, u+n) {
			for {
				p := l.peak.Load()
				if u+n <= p || l.peak.CompareAndSwap(p, u+n) {
					return nil
				}
			}
		}
	}
}

// Release subtracts n from the number of bytes that are reserved under the limit. It frees no
// memory itself.
func (l *Limit) Release(n int64) {
	if l != nil && l.used.Add(-n) < 0 {
		panic("BUG: tcs: more memory released than reserved")
	}
}

// Used returns the number of bytes in use.
func (l *Limit) Used() int64 {
	if l == nil {
		return 0
	}
	return l.used.Load()
}

// Peak returns the largest number of bytes that were in use at one time since the last ResetPeak.
func (l *Limit) Peak() int64 {
	if l == nil {
		return 0
	}
	return l.peak.Load()
}

// ResetPeak sets the peak to the number of bytes in use.
func (l *Limit) ResetPeak() { l.peak.Store(l.used.Load()) }

// Max returns the maximum in bytes, or 0 if there is none.
func (l *Limit) Max() int64 {
	if l == nil {
		return 0
	}
	return max(l.max, 0)
}

// Free returns the number of bytes that may still be reserved. Without a maximum it is the
// machine's free memory.
func (l *Limit) Free() int64 {
	if l.Max() > 0 {
		return max(l.max-l.used.Load(), 0)
	}
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 1 << 30
	}
	return int64(s.Freeram+s.Bufferram) * int64(s.Unit)
}

// Counters returns the counters of bytes in use and of the peak. An allocator outside Go
// updates them by atomic operations, to count against the same limit. The limit still owns
// them.
func (l *Limit) Counters() (used, peak *atomic.Int64) { return &l.used, &l.peak }

// MachineMemory returns the machine's memory in bytes.
func MachineMemory() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 1 << 30
	}
	return int64(s.Totalram) * int64(s.Unit)
}

// Memory is a block of memory outside the Go heap. It is freed when its last reference is
// released.
type Memory struct {
	Ptr   unsafe.Pointer
	Bytes int64
	refs  atomic.Int32
	free  func() error

	base    unsafe.Pointer // set by Alloc: the start of the pages, at or before Ptr
	size    uintptr
	limit   *Limit
	counted int64 // bytes that limit counts
}

// hugePage is the size of a huge page in bytes. Large blocks are aligned to huge pages.
const hugePage = 2 << 20

// minHuge is the smallest size in bytes for which Alloc asks for huge pages.
const minHuge = 4 << 20

// Alloc allocates zeroed memory outside the Go heap. bytes is its size; 0 is taken as 1. The limit
// l counts the memory. The memory is aligned to a page. If it has minHuge bytes or more, it is
// aligned to a huge page, and the system is advised to use huge pages. what names the purpose of
// the memory in an error. The caller owns the only reference.
func Alloc(l *Limit, bytes int64, what string) (*Memory, error) {
	if bytes < 0 {
		panic("BUG: tcs: allocation of a negative size")
	}
	bytes = max(bytes, 1) // a mapping can't be empty
	if l.Max() == 0 && bytes >= 1<<30 {
		if all := MachineMemory(); bytes > all {
			return nil, &MemoryError{What: what, Want: bytes, Max: all, Machine: true}
		}
	}
	if err := l.Reserve(bytes, what); err != nil {
		return nil, err
	}
	size := uintptr(bytes)
	if bytes >= minHuge {
		size += hugePage
	}
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		l.Release(bytes)
		return nil, RefusedBySystem(what, bytes, 0, err)
	}
	ptr := base
	if bytes >= minHuge {
		ptr = unsafe.Add(base, -uintptr(base)&(hugePage-1))
		// Advice only: if it fails, access is slower.
		unix.Madvise(unsafe.Slice((*byte)(ptr), bytes), unix.MADV_HUGEPAGE)
	}
	return pages(&Memory{Ptr: ptr, Bytes: bytes, base: base, size: size, limit: l, counted: bytes}),
		nil
}

// RefusedBySystem returns the error (exit code 5) for an allocation that the operating system
// refused. what names the purpose of the memory, and bytes is its size. used is the number of bytes
// in use, or 0 if it is not known. err is the system's error, or nil.
func RefusedBySystem(what string, bytes, used int64, err error) error {
	msg := fmt.Sprintf("%s needs %s, but the system has no more memory",
		what, tensor.Bytes(bytes))
	if used > 0 {
		msg += fmt.Sprintf("; %s is in use", tensor.Bytes(used))
	}
	return &Error{Exit: exitMemory, Msg: msg, Err: err}
}

// pages completes a Memory of mapped pages and returns it. The Memory has one reference. The pages
// are unmapped when the last reference is released.
func pages(m *Memory) *Memory {
	m.refs.Store(1)
	m.free = func() error {
		m.Uncount()
		return unix.MunmapPtr(m.base, m.size)
	}
	return m
}

const (
	// minCutPages is the smallest number of pages for which cut makes a separate Memory.
	minCutPages = 16
	// Uncut is an upper bound, in bytes, of the memory after off that stays with m if cut does not
	// split m. It assumes pages of 4 KiB.
	Uncut = (minCutPages + 1) << 12
)

// cut splits memory from Alloc at the first page boundary at or after byte off. m keeps the part
// before the boundary. cut returns the rest, which has a reference of its own. It returns nil, and
// does not split m, if off is 0 or the rest would be smaller than minCutPages pages. It may be
// called only for memory that was just allocated.
func (m *Memory) cut(off int64) *Memory {
	page := int64(unix.Getpagesize())
	off = (off + page - 1) &^ (page - 1)
	if m.base == nil || off == 0 || m.Bytes-off < minCutPages*page {
		return nil
	}
	at := unsafe.Add(m.Ptr, off)
	before := uintptr(at) - uintptr(m.base)
	rest := pages(&Memory{Ptr: at, Bytes: m.Bytes - off, base: at, size: m.size - before,
		limit: m.limit, counted: m.counted - off})
	m.Bytes, m.size, m.counted = off, before, off
	return rest
}

// Trim shortens m, which must be from Alloc, to the given number of bytes, and frees the memory
// after them. Nothing may use the freed part. All of it is returned to the limit, and its whole
// pages to the system.
func (m *Memory) Trim(bytes int64) {
	kept := max(bytes, 1)
	if m.base == nil || kept >= m.counted {
		return
	}
	page := uintptr(unix.Getpagesize())
	end := (uintptr(m.Ptr) - uintptr(m.base) + uintptr(kept) + page - 1) &^ (page - 1)
	if end < m.size && unix.MunmapPtr(unsafe.Add(m.base, end), m.size-end) == nil {
		m.size = end
	}
	m.limit.Release(m.counted - kept)
	m.Bytes, m.counted = kept, kept
}

// Foreign returns a Memory for memory of another allocator. free is called when the last
// reference is released. The caller owns the only reference.
func Foreign(ptr unsafe.Pointer, bytes int64, free func() error) *Memory {
	m := &Memory{Ptr: ptr, Bytes: bytes, free: free}
	m.refs.Store(1)
	return m
}

// Array returns an array of n elements of width bytes that starts at byte off.
func (m *Memory) Array(off, n int64, width uint8) Array {
	if off < 0 || n < 0 || off > m.Bytes || n > (m.Bytes-off)/int64(width) {
		panic("BUG: tcs: array outside its memory")
	}
	return Array{Ptr: unsafe.Add(m.Ptr, off), Len: n, Width: width}
}

// Slice returns the memory as a byte slice.
func (m *Memory) Slice() []byte { return unsafe.Slice((*byte)(m.Ptr), m.Bytes) }

// Uncount stops counting the memory against its limit, but does not free the memory. A caller uses
// it if it counts the memory in another way. Uncount returns the number of bytes that were counted.
// A second call returns 0.
func (m *Memory) Uncount() int64 {
	n := m.counted
	m.counted = 0
	m.limit.Release(n)
	return n
}

// Retain adds a reference.
func (m *Memory) Retain() { m.refs.Add(1) }

// Release drops a reference. When the last reference is dropped, it frees the memory.
func (m *Memory) Release() error {
	switch n := m.refs.Add(-1); {
	case n > 0:
		return nil
	case n < 0:
		panic("BUG: tcs: memory released more often than held")
	}
	if m.free == nil {
		return nil
	}
	return m.free()
}
