package transfer

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// Common makes a tensor with dense levels in memory that several ranks of one node share. Its
// values are 0. Each rank of list must call Common with the same list, and must close its tensor.
// The memory counts against limit at the first rank of the list. The ranks can read what another
// rank writes, but must synchronize by themselves.
//
// If the first rank cannot allocate the memory, Common returns nil at every rank. If another rank
// cannot map the memory, Common returns nil at that rank. The ranks must then agree on how to
// continue.
func Common(c comm.Comm, list []int, shape *tcs.Shape, name string, limit *tcs.Limit,
	tag int) (*tcs.Tensor, error) {
	if c.Rank() == list[0] {
		return allocateCommon(c, list[1:], shape, name, limit, tag)
	}
	// whether there is memory, and the process id and file descriptor to open it by
	var says [3]int64
	if err := comm.Recv(c.Uncounted(), says[:], list[0], tag); err != nil || says[0] == 0 {
		return nil, err
	}
	if c.OneProcess() {
		return take(c.Uncounted(), list[0], tag)
	}
	t, err := tcs.NewIn(shape, name,
		func(bytes int64, _ string) (*tcs.Memory, error) { return openPages(says[1], says[2], bytes) })
	if err != nil {
		t = nil // the first rank only waits until this rank has tried
	}
	return t, comm.Send(c.Uncounted(), []int64{0}, list[0], tag)
}

// allocateCommon does the work of Common at the first rank of the list: it allocates the tensor and
// announces it to the other ranks.
func allocateCommon(c comm.Comm, others []int, shape *tcs.Shape, name string, limit *tcs.Limit,
	tag int) (*tcs.Tensor, error) {
	alloc, fd := Pages(limit), -1
	if !c.OneProcess() {
		alloc = func(bytes int64, what string) (m *tcs.Memory, err error) {
			m, fd, err = newPages(limit, bytes, what)
			return m, err
		}
	}
	says := []int64{1, int64(os.Getpid()), 0}
	t, err := tcs.NewIn(shape, name, alloc)
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if err != nil {
		t, says[0] = nil, 0
	}
	says[2] = int64(fd)
	if err := announce(c, t, others, says, tag); err != nil {
		tcs.CloseList(t)
		return nil, err
	}
	return t, nil
}

// announce sends a control message to the other ranks. The message tells where the memory of t is.
// t is nil if this memory could not be allocated. announce then sends only the message. Otherwise,
// if all ranks are in one process, announce passes t to the other ranks. If the ranks are in
// several processes, announce waits until the other ranks have tried to map the memory of t.
func announce(c comm.Comm, t *tcs.Tensor, others []int, message []int64, tag int) error {
	for _, rank := range others {
		if err := comm.Send(c.Uncounted(), message, rank, tag); err != nil {
			return err
		}
		if t == nil || !c.OneProcess() {
			continue
		}
		s, err := share(c.Uncounted(), t, rank, tag)
		if err != nil {
			return err
		}
		if err := s.Wait(); err != nil {
			return err
		}
	}
	for _, rank := range others {
		if t == nil || c.OneProcess() {
			break
		}
		var done [1]int64
		if err := comm.Recv(c.Uncounted(), done[:], rank, tag); err != nil {
			return err
		}
	}
	return nil
}

// newPages allocates pages that other processes can open through fd, this process's file
// descriptor. The pages have no name, so that they are freed when the last process that uses them
// ends, even if it crashes.
func newPages(limit *tcs.Limit, bytes int64, what string) (m *tcs.Memory, fd int, err error) {
	if err := limit.Reserve(bytes, what); err != nil {
		return nil, -1, err
	}
	fd, err = unix.MemfdCreate("distaff", unix.MFD_CLOEXEC)
	if err == nil {
		if err = unix.Ftruncate(fd, mapped(bytes)); err == nil {
			m, err = mapPages(fd, bytes, func() { limit.Release(bytes) })
		}
		if err != nil {
			unix.Close(fd)
			fd = -1
		}
	}
	if err != nil {
		limit.Release(bytes)
		return nil, -1, fmt.Errorf(
			"%s: cannot share memory pages between processes: %w", what, err)
	}
	hugePages(unsafe.Slice((*byte)(m.Ptr), mapped(bytes)))
	return m, fd, nil
}

// openPages opens the pages that another process has made with newPages.
func openPages(pid, fd, bytes int64) (*tcs.Memory, error) {
	own, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(own)
	return mapPages(own, bytes, func() {})
}

// hugePage is the size and the alignment of a huge page.
const hugePage = 2 << 20

// mapped returns the number of bytes to map for memory of the given size. If bytes is at least
// hugePage, mapped rounds it up to a multiple of hugePage. Otherwise it returns bytes.
func mapped(bytes int64) int64 {
	if bytes < hugePage {
		return bytes
	}
	return (bytes + hugePage - 1) &^ (hugePage - 1)
}

// mapPages maps the pages of a file at an address that is aligned for huge pages. freed is called
// when the memory is unmapped.
func mapPages(fd int, bytes int64, freed func()) (*tcs.Memory, error) {
	size := uintptr(mapped(bytes) + hugePage)
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	at := unsafe.Add(base, -uintptr(base)&(hugePage-1))
	if _, err := unix.MmapPtr(fd, 0, at, uintptr(mapped(bytes)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		unix.MunmapPtr(base, size)
		return nil, err
	}
	return tcs.Foreign(at, bytes, func() error {
		freed()
		return unix.MunmapPtr(base, size)
	}), nil
}

// hugePages asks the system for huge pages for b, a new piece of shared memory. It first writes to
// each huge page, so that the memory is present. It does nothing if b is smaller than a huge page.
// If the system refuses, access is slower but correct.
func hugePages(b []byte) {
	if len(b) < hugePage {
		return
	}
	for at := 0; at < len(b); at += hugePage {
		b[at] = 0
	}
	unix.Madvise(b, unix.MADV_COLLAPSE)
}
