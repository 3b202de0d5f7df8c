package tcs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// source is the file behind a tensor.
type source struct {
	path   string
	f      *os.File // nil where the file was read into memory
	header fileHeader
	mtime  unix.Timespec
	mapped *Memory // the whole file
}

// readWhole is the size up to which a file is read, not mapped: a copy of it
// costs less than what a map needs, and can't shrink.
const readWhole = 256 << 10

// Open opens a .tcs file: it reads and checks the header, and maps the rest
// without touching it. What is wrong with the file is said by an *Error (exit
// 3 for its contents, 1 where it can't be read). Before the arrays of a file
// that is not trusted are used, Validate must pass; a compressed file's arrays
// have no memory until Load.
//
// The memory is not counted by any limit. If the file shrinks under the map,
// Changed says so (see there, and Guard).
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
	if h.total <= readWhole {
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
	ptr, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(h.total), unix.PROT_READ, unix.MAP_PRIVATE)
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

// openStream reads a .tcs from a pipe or device into memory.
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
	if errors.As(err, &e) && e.Exit != exitCommand { // a size past 2^63, or a failed read
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

// tensor is the tensor over the mapped file; it takes over the reference to it.
func (src *source) tensor() *Tensor {
	h := &src.header
	t := h.shape.bare()
	t.file = src
	t.held = []*Memory{src.mapped}
	for _, sec := range h.sections {
		a := t.array(sec.Level, sec.Array)
		if h.compress == compressNone {
			*a = src.mapped.Array(sec.Offset, sec.Len, sec.Width)
		} else {
			*a = Array{Len: sec.Len, Width: sec.Width}
		}
	}
	return t
}

// File is the path that the tensor was opened from, or "".
func (t *Tensor) File() string {
	if t.file == nil {
		return ""
	}
	return t.file.path
}

// FileStats are the statistics in the file's header; ok is false for a tensor
// that is not of a file.
func (t *Tensor) FileStats() (s Stats, ok bool) {
	if t.file == nil {
		return Stats{}, false
	}
	return t.file.header.stats, true
}

// Checksum names the file's contents: the checksum of its header, which holds
// those of all arrays. It is "" for a tensor that is not of a file.
func (t *Tensor) Checksum() string {
	if t.file == nil {
		return ""
	}
	return fmt.Sprintf("crc32:%08x", t.file.header.crc)
}

// Compressed reports whether the file's arrays are compressed, so that Load
// takes memory for them.
func (t *Tensor) Compressed() bool {
	return t.file != nil && t.file.header.compress != compressNone
}

// Changed is an error (exit 3) if the file behind a mapped tensor was cut or
// rewritten since Open. A caller asks after it has read the arrays, in Go or
// in C, and before it believes what it computed from them: under a Guard, reads
// of pages that are gone give zeros, not a crash.
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
		return dataErr(src.path, "the file changed while it was in use: %s, had %d", Count(st.Size, "byte"), src.header.total)
	}
	if st.Mtim != src.mtime {
		return dataErr(src.path, "the file was written while it was in use")
	}
	return nil
}

// guarded runs f, which reads the tensor's arrays, and prefers the news that
// the file changed to whatever f found.
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

// Guarded runs f, which reads the tensor's arrays in its own goroutine. If the
// file behind them changed meanwhile, that is the error, whatever f says.
func (t *Tensor) Guarded(f func() error) error { return t.guarded(f) }

// placeErr is dataErr of one element.
func (t *Tensor) placeErr(level int, array ArrayKind, index int64, format string, args ...any) error {
	return &Error{Exit: exitData, File: t.File(), Msg: fmt.Sprintf(format, args...), Place: &Place{level, array, index}}
}

func (t *Tensor) dataErr(format string, args ...any) error {
	return dataErr(t.File(), format, args...)
}
