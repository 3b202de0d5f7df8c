package tcsfile

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// source is an open file. It is the tcs.Source of its tensor and of the tensor's views.
type source struct {
	path   string
	f      *os.File // nil unless Open mapped the file
	header fileHeader
	mtime  unix.Timespec
	mapped *tcs.Memory // the whole file
}

// maxRead is the largest size in bytes of a file that is read into memory instead of mapped.
// Copying such a file costs less than mapping it, and a copy can't shrink.
const maxRead = 256 << 10

// Open opens a .tcs file. It reads and checks the header, and maps the rest without reading it. It
// reads a file of at most maxRead bytes, a pipe or a device into memory instead. Errors have an
// exit code: 3 for the file's contents, 1 if the file can't be read, 5 if there is not enough
// memory. Before the arrays of an untrusted file are used, Validate must pass. The arrays of a
// compressed file have no memory until Load.
//
// The memory is not counted by any limit. Changed reports whether the file changed while it was
// mapped; Guard describes what happens if it shrinks.
func Open(path string) (*tcs.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openErr(path, err)
	}
	t, err := openFile(path, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

func openErr(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &tcs.Error{Exit: exitRun, File: path, Msg: "can't read the file", Err: err}
}

func openFile(path string, f *os.File) (*tcs.Tensor, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, openErr(path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return openStream(path, f)
	}
	src := &source{path: path, mtime: st.Mtim}
	h, err := readHeader(f, st.Size)
	if err != nil {
		return nil, headerErr(path, err)
	}
	src.header = *h
	if h.total <= maxRead {
		defer f.Close()
		if src.mapped, err = tcs.Alloc(nil, h.total, "the file"); err != nil {
			return nil, err
		}
		if _, err := f.ReadAt(src.mapped.Slice(), 0); err != nil {
			src.mapped.Release()
			if err == io.EOF {
				return nil, dataErr(path, "the file became shorter while it was read")
			}
			return nil, openErr(path, err)
		}
		return src.tensor(), nil
	}
	ptr, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(h.total), unix.PROT_READ,
		unix.MAP_PRIVATE)
	if err != nil {
		return nil, openErr(path, err)
	}
	src.f = f
	watch(ptr, h.total)
	src.mapped = tcs.Foreign(ptr, h.total, func() error {
		unwatch(ptr)
		err := unix.MunmapPtr(ptr, uintptr(h.total))
		f.Close()
		return err
	})
	return src.tensor(), nil
}

// openStream reads a .tcs file from a pipe or device into memory.
func openStream(path string, f io.ReadCloser) (*tcs.Tensor, error) {
	defer f.Close()
	h, buf, err := streamHeader(path, f)
	if err != nil {
		return nil, err
	}
	src := &source{path: path, header: *h}
	if src.mapped, err = tcs.Alloc(nil, h.total, "the file"); err != nil {
		return nil, err
	}
	copy(src.mapped.Slice(), buf)
	if n, err := io.ReadFull(f, src.mapped.Slice()[h.length:]); err != nil {
		src.mapped.Release()
		if !short(err) {
			return nil, streamErr(path, err)
		}
		return nil, truncated(path, h, int64(n))
	}
	if err := atEnd(path, h, f); err != nil {
		src.mapped.Release()
		return nil, err
	}
	return src.tensor(), nil
}

func headerErr(path string, err error) error {
	var e *tcs.Error
	if errors.As(err, &e) && e.Exit != exitCommand { // too large a layout, or a failed read
		return &tcs.Error{Exit: e.Exit, File: path, Msg: e.Error()}
	}
	return dataErr(path, "%v", err)
}

// readHeader reads and checks the header of a file of size bytes.
func readHeader(f io.ReaderAt, size int64) (*fileHeader, error) {
	buf := make([]byte, fixedLen, 1024)
	n, err := f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return nil, &tcs.Error{Exit: exitRun, Msg: "can't read the file", Err: err}
	}
	h, order, sections, err := decodeFixed(buf[:n], size)
	if err != nil {
		return nil, err
	}
	all := make([]byte, h.length)
	if _, err := f.ReadAt(all, 0); err != nil {
		return nil, fmt.Errorf("the file is truncated: it ends within its header of %d bytes", h.length)
	}
	return h, h.decodeTables(all, order, sections)
}

// tensor returns a tensor whose arrays are in the mapped memory of the file. The arrays of a
// compressed file get no memory yet. The tensor takes over src's reference to the mapped memory.
func (src *source) tensor() *tcs.Tensor {
	h := &src.header
	t := h.shape.Bare()
	t.SetSource(src, nil)
	t.Own(src.mapped)
	for _, sec := range h.sections {
		a := t.Array(sec.section.Level, sec.section.Array)
		if h.compress == compressNone {
			*a = src.mapped.Array(sec.section.Offset, sec.section.Len, sec.section.Width)
		} else {
			*a = tcs.Array{Len: sec.section.Len, Width: sec.section.Width}
		}
	}
	return t
}

// of returns the file that the tensor was opened from, or nil.
func of(t *tcs.Tensor) *source {
	s, _ := t.Source()
	src, _ := s.(*source)
	return src
}

// Stats returns the statistics in the file's header. ok is false if the tensor was not opened
// from a file.
func Stats(t *tcs.Tensor) (s tcs.Stats, ok bool) {
	src := of(t)
	if src == nil {
		return tcs.Stats{}, false
	}
	return src.header.stats, true
}

// Checksum returns an identifier of the file's contents: the checksum of the header, which
// includes the checksums of all arrays. It is "" if the tensor was not opened from a file.
func Checksum(t *tcs.Tensor) string {
	src := of(t)
	if src == nil {
		return ""
	}
	return fmt.Sprintf("crc32:%08x", src.header.crc)
}

// Name returns the path of the file.
func (src *source) Name() string { return src.path }

// Compressed reports whether the file's arrays are compressed.
func (src *source) Compressed() bool { return src.header.compress != compressNone }

// Changed returns an error (exit code 3) if a mapped file was truncated or written since Open.
func (src *source) Changed() error {
	if src.f == nil {
		return nil
	}
	if torn(src.mapped.Ptr) {
		return src.dataErr("the file became shorter while it was in use")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(src.f.Fd()), &st); err != nil {
		return openErr(src.path, err)
	}
	if st.Size != src.header.total {
		return src.dataErr("the file changed while it was in use: it has %s now, but had %d",
			tensor.Count(st.Size, "byte"), src.header.total)
	}
	if st.Mtim != src.mtime {
		return src.dataErr("the file was written while it was in use")
	}
	return nil
}

// Guard runs f, which reads the mapped memory of the file, and returns the error of f. If the file
// was changed since Open, Guard returns the error of Changed instead.
func (src *source) Guard(f func() error) error {
	if src.f == nil {
		return f()
	}
	err := tcs.Faultless(f)
	if c := src.Changed(); c != nil {
		return c
	}
	if err == tcs.ErrShrank {
		return src.dataErr("%v", err)
	}
	return err
}

// stored returns the bytes of a section in the file.
func (src *source) stored(sec *fileSection) []byte {
	return src.mapped.Slice()[sec.section.Offset : sec.section.Offset+sec.stored]
}

func (src *source) dataErr(format string, args ...any) error {
	return dataErr(src.path, format, args...)
}

// Exit codes of this package's errors.
const (
	exitRun     = 1
	exitCommand = 2
	exitData    = 3
)

func dataErr(file, format string, args ...any) error {
	return &tcs.Error{Exit: exitData, File: file, Msg: fmt.Sprintf(format, args...)}
}
