package transfer

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// Common makes a tensor with dense levels that the ranks of list, which run on one node, have in
// one memory: what one writes there the others read, and it is theirs to agree on when. Its values
// are 0. The first of list counts the memory against limit; each closes its tensor. Nil where the
// memory is not to be had, at this rank or the first: they agree on that as well. Each of list
// calls it, with the same list.
func Common(c comm.Comm, list []int, shape *tcs.Shape, name string, limit *tcs.Limit,
	tag int) (*tcs.Tensor, error) {
	if c.Rank() == list[0] {
		return lend(c, list[1:], shape, name, limit, tag)
	}
	var says [3]int64 // whether there is memory, and where
	if err := comm.Recv(c.Uncounted(), says[:], list[0], tag); err != nil || says[0] == 0 {
		return nil, err
	}
	if c.OneProcess() {
		return take(c.Uncounted(), list[0], tag)
	}
	t, err := tcs.NewIn(shape, name,
		func(bytes int64, _ string) (*tcs.Memory, error) { return openPages(says[1], says[2], bytes) })
	if err != nil {
		t = nil // the first is told that this rank has looked, and no more
	}
	return t, comm.Send(c.Uncounted(), []int64{0}, list[0], tag)
}

// lend is Common at the first rank.
func lend(c comm.Comm, others []int, shape *tcs.Shape, name string, limit *tcs.Limit,
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
	if err := tellAll(c, t, others, says, tag); err != nil {
		tcs.CloseList(t)
		return nil, err
	}
	return t, nil
}

// tellAll tells others where the memory of t is, nil for none, and waits until they have it.
func tellAll(c comm.Comm, t *tcs.Tensor, others []int, says []int64, tag int) error {
	for _, rank := range others {
		if err := comm.Send(c.Uncounted(), says, rank, tag); err != nil {
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

// newPages are pages that other processes open by this process's file descriptor. They have no
// name, so that nothing is left of them when the last process that has them ends, however it does.
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
		return nil, -1, fmt.Errorf("%s: pages that processes have in common: %w", what, err)
	}
	hugePages(unsafe.Slice((*byte)(m.Ptr), mapped(bytes)))
	return m, fd, nil
}

// openPages are the pages of newPages of another process.
func openPages(pid, fd, bytes int64) (*tcs.Memory, error) {
	own, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(own)
	return mapPages(own, bytes, func() {})
}

// hugePage is the size of a huge page, and where those of mapped memory begin.
const hugePage = 2 << 20

// mapped is how many bytes are mapped for so many: whole huge pages, where there is one at least.
func mapped(bytes int64) int64 {
	if bytes < hugePage {
		return bytes
	}
	return (bytes + hugePage - 1) &^ (hugePage - 1)
}

// mapPages maps a file's pages where huge ones can lie; freed is called when they are unmapped.
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

// hugePages has the system make huge pages of fresh ones that processes have in common, which it
// does by itself on few machines: it takes that a page of each is there. Where there are none,
// access costs more, and that is all.
func hugePages(b []byte) {
	if len(b) < hugePage {
		return
	}
	for at := 0; at < len(b); at += hugePage {
		b[at] = 0
	}
	unix.Madvise(b, unix.MADV_COLLAPSE)
}
