package tcs

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// source is the file of a tensor.
type source struct {
	path   string
	f      *os.File // nil if the file was read into memory
	header fileHeader
	mtime  unix.Timespec
	mapped *Memory // the whole file
}

// maxRead is the largest size in bytes of a file that is read into memory instead of mapped.
// Copying such a file costs less than mapping it, and a copy can't shrink.
const maxRead = 256 << 10

// Open opens a .tcs file. It reads and checks the header, and maps the rest without reading it.
// Errors are of type *Error: exit code 3 for the file's contents, 1 if the file can't be read.
// Before the arrays of an untrusted file are used, Validate must pass. The arrays of a
// compressed file have no memory until Load.
//
// The memory is not counted by any limit. Changed reports whether the file changed while it was
// mapped; Guard describes what happens if it shrinks.
func Open(path string) (*Tensor, error) {
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
	return &Error{Exit: exitRun, File: path, Msg: "can't read the file", Err: err}
}

func openFile(path string, f *os.File) (*Tensor, error) {
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
		if src.mapped, err = Alloc(nil, h.total, "the file"); err != nil {
			return nil, err
		}
		if _, err := f.ReadAt(src.mapped.Slice(), 0); err != nil {
			src.mapped.Release()
			if err == io.EOF {
				return nil, dataErr(path, "the file shrank while it was read")
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
	src.mapped = Foreign(ptr, h.total, func() error {
		unwatch(ptr)
		err := unix.MunmapPtr(ptr, uintptr(h.total))
		f.Close()
		return err
	})
	return src.tensor(), nil
}

// openStream reads a .tcs file from a pipe or device into memory.
func openStream(path string, f io.ReadCloser) (*Tensor, error) {
	defer f.Close()
	h, buf, err := streamHeader(path, f)
	if err != nil {
		return nil, err
	}
	src := &source{path: path, header: *h}
	if src.mapped, err = Alloc(nil, h.total, "the file"); err != nil {
		return nil, err
	}
	copy(src.mapped.Slice(), buf)
	if n, err := io.ReadFull(f, src.mapped.Slice()[h.length:]); err != nil {
		src.mapped.Release()
		return nil, truncated(path, h, int64(n))
	}
	if err := atEnd(path, h, f); err != nil {
		src.mapped.Release()
		return nil, err
	}
	return src.tensor(), nil
}

func headerErr(path string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Exit != exitCommand { // too large a layout, or a failed read
		return &Error{Exit: e.Exit, File: path, Msg: e.Error()}
	}
	return dataErr(path, "%v", err)
}

// readHeader reads and checks the header of a file of size bytes.
func readHeader(f io.ReaderAt, size int64) (*fileHeader, error) {
	buf := make([]byte, fixedLen, 1024)
	n, err := f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return nil, &Error{Exit: exitRun, Msg: "can't read the file", Err: err}
	}
	h, order, sections, err := decodeFixed(buf[:n], size)
	if err != nil {
		return nil, err
	}
	all := make([]byte, h.length)
	if _, err := f.ReadAt(all, 0); err != nil {
		return nil, fmt.Errorf("truncated in its header of %d bytes", h.length)
	}
	return h, h.decodeTables(all, order, sections)
}

// tensor returns a tensor over the mapped file. It takes over the reference to the map.
func (src *source) tensor() *Tensor {
	h := &src.header
	t := h.shape.bare()
	t.file = src
	t.held = []*Memory{src.mapped}
	for _, sec := range h.sections {
		a := t.array(sec.section.Level, sec.section.Array)
		if h.compress == compressNone {
			*a = src.mapped.Array(sec.section.Offset, sec.section.Len, sec.section.Width)
		} else {
			*a = Array{Len: sec.section.Len, Width: sec.section.Width}
		}
	}
	return t
}

// File returns the path that the tensor was opened from, or "" if there is none.
func (t *Tensor) File() string {
	if t.file == nil {
		return ""
	}
	return t.file.path
}

// FileStats returns the statistics in the file's header. ok is false if the tensor was not
// opened from a file.
func (t *Tensor) FileStats() (s Stats, ok bool) {
	if t.file == nil {
		return Stats{}, false
	}
	return t.file.header.stats, true
}

// Checksum returns an identifier of the file's contents: the checksum of the header, which
// includes the checksums of all arrays. It is "" if the tensor was not opened from a file.
func (t *Tensor) Checksum() string {
	if t.file == nil {
		return ""
	}
	return fmt.Sprintf("crc32:%08x", t.file.header.crc)
}

// Compressed reports whether the file's arrays are compressed. If they are, Load allocates
// memory for the arrays.
func (t *Tensor) Compressed() bool {
	return t.file != nil && t.file.header.compress != compressNone
}

// Changed returns an error (exit code 3) if the file of a mapped tensor was truncated or
// written since Open. A caller checks it after it has read the arrays, in Go or in C, and
// before it uses the results: with a Guard, reads of pages that no longer exist return zeros.
func (t *Tensor) Changed() error {
	if t.file == nil || t.file.f == nil {
		return nil
	}
	src := t.file
	if torn(src.mapped.Ptr) {
		return dataErr(src.path, "the file shrank while it was in use")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(src.f.Fd()), &st); err != nil {
		return openErr(src.path, err)
	}
	if st.Size != src.header.total {
		return dataErr(src.path, "the file changed while it was in use: %s, had %d",
			tensor.Count(st.Size, "byte"), src.header.total)
	}
	if st.Mtim != src.mtime {
		return dataErr(src.path, "the file was written while it was in use")
	}
	return nil
}

// guarded runs f, which reads the tensor's arrays. If the file changed meanwhile, it returns
// that error instead of f's.
func (t *Tensor) guarded(f func() error) error {
	if t.file == nil || t.file.f == nil {
		return f()
	}
	err := faultless(f)
	if c := t.Changed(); c != nil {
		return c
	}
	if err == errShrank {
		return dataErr(t.file.path, "%v", err)
	}
	return err
}

var errShrank = errors.New("the file shrank while it was read")

// Guarded runs f, which reads the tensor's arrays in the calling goroutine. If the file changed
// meanwhile, it returns that error instead of f's.
func (t *Tensor) Guarded(f func() error) error { return t.guarded(f) }

// placeErr returns a data error at one element of an array.
func (t *Tensor) placeErr(level int, array ArrayKind, index int64, format string,
	args ...any) error {
	return &Error{Exit: exitData, File: t.File(), Msg: fmt.Sprintf(format, args...),
		Place: &Place{level, array, index}}
}

func (t *Tensor) dataErr(format string, args ...any) error {
	return dataErr(t.File(), format, args...)
}
