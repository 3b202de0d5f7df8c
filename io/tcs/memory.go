package tcs

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limit counts bytes allocated, and refuses what would pass Max. Several
// tensors and buffers share one. A nil Limit counts nothing and refuses nothing.
type Limit struct {
	max        int64
	used, peak atomic.Int64
}

// NewLimit is a limit of max bytes; max <= 0 only counts.
func NewLimit(max int64) *Limit { return &Limit{max: max} }

// MemoryError says that an allocation would pass the limit (exit 5).
type MemoryError struct {
	What            string // what the memory was for
	Want, Used, Max int64  // bytes
	Machine         bool   // Max is the machine's memory, not a limit that was set
	Hint            string // what would help; "" for none
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s takes %s; with %s in use that passes the memory limit of %s (--memory-limit)",
		e.What, Size(e.Want), Size(e.Used), Size(e.Max))
	if e.Machine {
		s = fmt.Sprintf("%s takes %s, and the machine has %s", e.What, Size(e.Want), Size(e.Max))
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// ExitCode is 5.
func (e *MemoryError) ExitCode() int { return exitMemory }

// Reserve counts n bytes, or refuses them with a *MemoryError.
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

// Release gives n bytes back.
func (l *Limit) Release(n int64) {
	if l != nil && l.used.Add(-n) < 0 {
		panic("BUG: tcs: more memory released than reserved")
	}
}

// Used, Peak and Max are the bytes in use, the most there were, and the limit
// (0: none).
func (l *Limit) Used() int64 {
	if l == nil {
		return 0
	}
	return l.used.Load()
}

func (l *Limit) Peak() int64 {
	if l == nil {
		return 0
	}
	return l.peak.Load()
}

// ResetPeak begins the peak anew, at what is in use.
func (l *Limit) ResetPeak() { l.peak.Store(l.used.Load()) }

func (l *Limit) Max() int64 {
	if l == nil {
		return 0
	}
	return max(l.max, 0)
}

// Free is the bytes that may still be reserved: what is left of the limit, or
// without one of the machine's free memory.
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

// MachineMemory is the bytes of memory that the machine has.
func MachineMemory() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 1 << 30
	}
	return int64(s.Totalram) * int64(s.Unit)
}

// Size prints bytes with a binary unit: 1.50 GiB. The largest number stands for so many or more (Times).
func Size(n int64) string {
	if n == math.MaxInt64 {
		return "more than 8 EiB"
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1024 {
		return Count(n, "byte")
	}
	f := float64(n) / 1024
	u := 0
	for ; f >= 1024 && u < len(units)-1; u++ {
		f /= 1024
	}
	return fmt.Sprintf("%.4g %s", f, units[u])
}

// Memory is a piece of memory outside the Go heap, freed when its last
// reference is released.
type Memory struct {
	Ptr   unsafe.Pointer
	Bytes int64
	refs  atomic.Int32
	free  func() error

	base    unsafe.Pointer // of Alloc: the pages, which begin at or before Ptr
	size    uintptr
	limit   *Limit
	counted int64 // against limit
}

// hugePage is the size to which large pieces are aligned.
const hugePage = 2 << 20

// hugeAt is the size from which huge pages are asked for.
const hugeAt = 4 << 20

// Alloc is zeroed memory of that many bytes, aligned to a page (to 2 MiB and in
// huge pages where large), counted against l; what names it in the refusal.
// The caller holds the one reference.
func Alloc(l *Limit, bytes int64, what string) (*Memory, error) {
	if bytes < 0 {
		panic("BUG: tcs: allocation of a negative size")
	}
	bytes = max(bytes, 1) // a mapping is not empty
	if l.Max() == 0 && bytes >= 1<<30 {
		if all := MachineMemory(); bytes > all {
			return nil, &MemoryError{What: what, Want: bytes, Max: all, Machine: true}
		}
	}
	if err := l.Reserve(bytes, what); err != nil {
		return nil, err
	}
	size := uintptr(bytes)
	if bytes >= hugeAt {
		size += hugePage
	}
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		l.Release(bytes)
		return nil, &Error{Exit: exitMemory, Msg: fmt.Sprintf("%s takes %s, which the system does not give", what, Size(bytes)), Err: err}
	}
	ptr := base
	if bytes >= hugeAt {
		ptr = unsafe.Add(base, -uintptr(base)&(hugePage-1))
		unix.Madvise(unsafe.Slice((*byte)(ptr), bytes), unix.MADV_HUGEPAGE) // a hint: a refusal only costs speed
	}
	return pages(&Memory{Ptr: ptr, Bytes: bytes, base: base, size: size, limit: l, counted: bytes}), nil
}

// pages makes m, which has one reference, free its pages.
func pages(m *Memory) *Memory {
	m.refs.Store(1)
	m.free = func() error {
		m.Uncount()
		return unix.MunmapPtr(m.base, m.size)
	}
	return m
}

// leastCut is the least pages that are cut off. Uncut is what stays at most of what lies behind.
const (
	leastCut = 16
	Uncut    = (leastCut + 1) << 12
)

// cut divides memory of Alloc at the first page at or after byte off: m keeps what is
// before it, and the rest is returned, to be released by itself. It is nil where
// little would be. Only for memory that has just been made.
func (m *Memory) cut(off int64) *Memory {
	page := int64(unix.Getpagesize())
	off = (off + page - 1) &^ (page - 1)
	if m.base == nil || off == 0 || m.Bytes-off < leastCut*page {
		return nil
	}
	at := unsafe.Add(m.Ptr, off)
	before := uintptr(at) - uintptr(m.base)
	rest := pages(&Memory{Ptr: at, Bytes: m.Bytes - off, base: at, size: m.size - before, limit: m.limit, counted: m.counted - off})
	m.Bytes, m.size, m.counted = off, before, off
	return rest
}

// Trim gives back what lies behind the first bytes of memory of Alloc, which nothing uses: all of it to the limit, and whole
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

// Foreign is memory that another allocator made; free is called when the last
// reference goes. The caller holds the one reference.
func Foreign(ptr unsafe.Pointer, bytes int64, free func() error) *Memory {
	m := &Memory{Ptr: ptr, Bytes: bytes, free: free}
	m.refs.Store(1)
	return m
}

// Array is n elements of width bytes from byte off on.
func (m *Memory) Array(off, n int64, width uint8) Array {
	if off < 0 || n < 0 || off > m.Bytes || n > (m.Bytes-off)/int64(width) {
		panic("BUG: tcs: array outside its memory")
	}
	return Array{Ptr: unsafe.Add(m.Ptr, off), Len: n, Width: width}
}

// Slice is the memory as bytes.
func (m *Memory) Slice() []byte { return unsafe.Slice((*byte)(m.Ptr), m.Bytes) }

// Uncount gives back to the limit what the memory counts for, which stays: for one
// who counts it otherwise from then on. It returns the bytes, 0 the second time.
func (m *Memory) Uncount() int64 {
	n := m.counted
	m.counted = 0
	m.limit.Release(n)
	return n
}

// Retain adds a reference.
func (m *Memory) Retain() { m.refs.Add(1) }

// Release drops a reference, and frees the memory with the last.
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
