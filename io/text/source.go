package text

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// smallWindow and largeWindow are sizes in bytes of windows of zstd files. A decoder accepts a
// window of up to half of the memory that reading may use (Source.limit), but it accepts all
// windows of up to smallWindow, and no window of more than largeWindow. smallWindow is the largest
// window that the zstd command line reads without an option. largeWindow is the largest window that
// it writes.
const (
	smallWindow = 1 << 27
	largeWindow = 1 << 31
)

// Source is a file, standard input or a pipe. It can be read from its start any number of
// times, by several readers at the same time.
type Source struct {
	Name string // for messages

	// Member is the name after the colon of a path FILE:NAME (see Split), or "".
	Member string

	file  *os.File // nil unless it is a regular file
	size  int64    // bytes of the regular file
	spool *spool   // nil if it is a regular file
	pack  *packing // nil if the file is not compressed
	tar   *tarball // nil unless the content is a member of a tar archive
	done  atomic.Int64

	limit   int64 // bytes of memory that reading may use; 0: a quarter of the machine's
	tmp     string
	content *spool // the decompressed content, if ReaderAt was called
	kept    *kept  // the decompressed content, if Keep was called
}

// Stdin reports whether path names standard input or output: "-", or "-" followed by the
// extension of a format, as in "-.tns". /dev/stdin and /dev/stdout are treated as "-".
func Stdin(path string) bool {
	return path == "-" || path == "/dev/stdin" || path == "/dev/stdout" ||
		strings.HasPrefix(path, "-.") && !strings.Contains(path, "/")
}

// Open opens the file at path and calls read, which returns a stream of its entries. The stream
// owns the file.
func Open(path string, opt coo.Options, read func(*Source, coo.Options) (coo.Stream,
	error)) (coo.Stream, error) {
	src, err := OpenSource(path, opt.Tmp)
	if err != nil {
		return nil, err
	}
	src.limit = opt.Limit
	s, err := read(src, opt)
	if err != nil {
		src.Close()
		return nil, err
	}
	return s, nil
}

// OpenSource opens path. The bytes of standard input or a pipe are kept for later readers: in
// memory while there are few, then in an unlinked file in folder tmp.
func OpenSource(path, tmp string) (*Source, error) {
	whole := path
	path, member := Split(path)
	s := &Source{Name: path, Member: member, tmp: tmp}
	if IsTar(path) {
		s.Name, s.tar = whole, newTarball(path, member)
	}
	if Stdin(path) {
		s.Name = "standard input"
		s.spool = newSpool(io.NopCloser(os.Stdin), tmp)
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, openError(path, err)
		}
		fi, err := f.Stat()
		if err == nil && fi.IsDir() {
			err = errors.New("got a folder, want a file")
		}
		if err != nil {
			f.Close()
			return nil, openError(path, err)
		}
		if fi.Mode().IsRegular() {
			s.file, s.size = f, fi.Size()
		} else {
			s.spool = newSpool(f, tmp)
		}
	}
	head := make([]byte, magicSize)
	n, err := io.ReadFull(s.raw(nil), head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		s.Close()
		return nil, openError(s.Name, err)
	}
	s.pack = packingOf(head[:n])
	if n == 0 && PackedExt(path) != "" {
		s.Close()
		return nil, Dataf(s.Name, 0, 0,
			"got an empty file, want compressed data, as the name says")
	}
	return s, nil
}

func openError(path string, err error) error {
	var pe *os.PathError
	msg := err.Error()
	if errors.As(err, &pe) {
		msg = pe.Err.Error()
	}
	return &Error{File: path, Msg: msg, Exit: ExitRun, Err: err}
}

// raw returns a reader of the file from its start, without decompression. It adds the number of
// bytes read to count, which may be nil.
func (s *Source) raw(count *atomic.Int64) io.Reader {
	if s.file != nil {
		return &counted{r: io.NewSectionReader(s.file, 0, s.size), n: count, left: s.size,
			name: s.Name}
	}
	return &counted{r: &spoolReader{s: s.spool}, n: count}
}

// Reader returns a reader of the decompressed content from its start. The reader's errors are
// of type *Error, apart from io.EOF. Progress then counts from 0.
func (s *Source) Reader() (io.ReadCloser, error) {
	s.done.Store(0)
	if s.kept != nil && s.kept.whole() {
		return &wrapped{s: s, r: &keptReader{k: s.kept, done: &s.done, total: s.size},
			close: func() error { return nil }}, nil
	}
	r, err := s.decompressed()
	if err == nil && s.kept != nil {
		s.kept.release() // what a reader before left unfinished
		s.kept = &kept{tmp: s.tmp}
		r.r = &keeper{r.r, s.kept}
	}
	return r, err
}

// decompressed returns a reader that decompresses the content. If the content is a member of a tar
// archive, the reader starts at the member.
func (s *Source) decompressed() (*wrapped, error) {
	w := &wrapped{s: s, r: s.raw(&s.done), close: func() error { return nil }}
	if s.pack != nil {
		r, err := s.pack.open(s, w.r, 1<<18, 0)
		if err != nil {
			return nil, s.wrap(err, s.pack.name)
		}
		w.r, w.what, w.close = r, s.pack.name, r.Close
	}
	if s.tar != nil {
		member, err := s.tar.find(w)
		if err != nil {
			w.close()
			return nil, err
		}
		w = &wrapped{s: s, r: member, what: "tar", close: w.close}
	}
	return w, nil
}

// window returns the largest window, in bytes, that a zstd stream may use.
func (s *Source) window() int64 {
	limit := s.limit
	if limit <= 0 {
		limit = tcs.MachineMemory() / 4
	}
	return min(max(limit/2, smallWindow), largeWindow)
}

// Plain returns the open file and its size if the content can be read at any offset and mapped: a
// regular file that is neither compressed nor a tar archive. Otherwise f is nil. The Source still
// owns f.
func (s *Source) Plain() (f *os.File, size int64) {
	if s.file == nil || s.packed() {
		return nil, 0
	}
	return s.file, s.size
}

// Start returns the first n bytes of a pipe, a compressed file or a member of an archive, or fewer
// if it has fewer. It returns nil for a plain file. A reader checks these bytes before it stores
// the whole file, which a wrong file would not be worth.
func (s *Source) Start(n int) ([]byte, error) {
	if f, _ := s.Plain(); f != nil {
		return nil, nil
	}
	r, err := s.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head := make([]byte, n)
	k, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return head[:k], nil
}

// Progress returns the number of bytes of the file that were read, before decompression, and
// the size of the file. total is 0 for a pipe.
func (s *Source) Progress() (done, total int64) { return s.done.Load(), s.size }

// Close closes the file. Readers must not be used after Close.
func (s *Source) Close() error {
	if s.content != nil {
		s.content.close()
	}
	if s.kept != nil {
		s.kept.release() // an earlier reader did not reach the end
	}
	if s.spool != nil {
		return s.spool.close()
	}
	return s.file.Close()
}

// wrap adds the file's name and an exit code to an error. what is the name of the compression for
// the message, or "" if there is none. wrap returns an *Error unchanged, and also io.EOF if what is
// "". The exit code is one of these:
//
//   - ExitRun for an error of the operating system or of temporary files.
//   - ExitMemory if the memory limit is too small for the window of a zstd file or the dictionary
//     of an xz file.
//   - ExitData for any other error, for example if the data are damaged or a window is larger than
//     largeWindow.
func (s *Source) wrap(err error, what string) error {
	var e *Error
	if err == io.EOF && what == "" || errors.As(err, &e) {
		return err
	}
	var pe *os.PathError
	var se *os.SyscallError
	var temp *outfile.TempError
	if errors.As(err, &pe) || errors.As(err, &se) || errors.As(err, &temp) {
		return &Error{File: s.Name, Msg: err.Error(), Exit: ExitRun, Err: err}
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, errDictionary) {
		e := &Error{File: s.Name,
			Msg: fmt.Sprintf("%s: its window, or what it refers back to, is larger than %s", what,
				tensor.Bytes(s.window())), Exit: ExitData, Err: err}
		if s.window() < largeWindow {
			e.Msg, e.Exit = e.Msg+", half of the memory that reading it may use "+
				"(--memory-limit)",
				ExitMemory
		}
		return e
	}
	msg := err.Error()
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		msg = "the compressed data end too early"
	}
	return &Error{File: s.Name, Msg: what + ": " + strings.TrimPrefix(msg, what+": "),
		Exit: ExitData, Err: err}
}

type counted struct {
	r    io.Reader
	n    *atomic.Int64
	left int64 // bytes before the expected end of a regular file
	name string
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n != nil {
		c.n.Add(int64(n))
	}
	if c.left -= int64(n); err == io.EOF && c.left > 0 {
		err = Dataf(c.name, 0, 0, "the file became shorter while it was read")
	}
	return n, err
}

type wrapped struct {
	s     *Source
	r     io.Reader
	what  string
	close func() error
}

func (w *wrapped) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		err = w.s.wrap(err, w.what)
	}
	return n, err
}

func (w *wrapped) Close() error { return w.close() }

// ReaderAt returns access to the decompressed content at any offset, and the size of the content.
// If the file is a pipe or compressed, ReaderAt first reads all of it, and stores the content in
// memory and, if it is long, in a temporary file. The Source closes the returned ReaderAt. For a
// plain file, Progress then counts the bytes that are read since the last Restart.
func (s *Source) ReaderAt() (io.ReaderAt, int64, error) {
	if f, size := s.Plain(); f != nil {
		return &countedAt{f, s}, size, nil
	}
	sp := s.spool
	if s.packed() {
		if s.content == nil {
			r, err := s.Reader()
			if err != nil {
				return nil, 0, err
			}
			s.content = newSpool(r, s.tmp)
		}
		sp = s.content
	}
	size, err := io.Copy(io.Discard, &spoolReader{s: sp})
	if err != nil {
		return nil, 0, s.wrap(err, "")
	}
	return sp, size, nil
}

type countedAt struct {
	f *os.File
	s *Source
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errBefore
	}
	n, err := c.f.ReadAt(p, off)
	c.s.done.Add(int64(n))
	if err != nil && err != io.EOF {
		err = c.s.wrap(err, "")
	}
	return n, err
}

// Restart makes Progress count from 0.
func (s *Source) Restart() { s.done.Store(0) }
