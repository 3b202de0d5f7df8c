package text

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"distaff/io/outfile"
)

// spoolMemory is the number of bytes of a pipe, or of decompressed content, that are kept in memory
// before a file is used.
const spoolMemory = 4 << 20

// spool stores the bytes that were read from a pipe, or the decompressed content of a file, so that
// several readers can each read them from the start. Bytes are read when a reader first needs them.
type spool struct {
	mu   sync.Mutex
	in   io.ReadCloser
	tmp  string
	mem  []byte   // the first bytes, at most spoolMemory
	file *os.File // the other bytes; nil if there are none
	size int64    // bytes read from the pipe so far
	err  error    // the error that ended the pipe, or io.EOF
}

func newSpool(in io.ReadCloser, tmp string) *spool { return &spool{in: in, tmp: tmp} }

// readAt reads bytes at off. If they were not read before, it reads them from the pipe.
func (s *spool) readAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if off < int64(len(s.mem)) {
		return copy(p, s.mem[off:]), nil
	}
	if off < s.size {
		n := min(int64(len(p)), s.size-off)
		return s.file.ReadAt(p[:n], off-int64(len(s.mem)))
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.in.Read(p)
	if kerr := s.keep(p[:n]); kerr != nil {
		n, err = 0, fmt.Errorf(
			"no room to keep the data from a pipe; choose another folder with --tmp: %w", kerr)
	}
	s.size += int64(n)
	s.err = err
	if n > 0 {
		err = nil
	}
	return n, err
}

func (s *spool) keep(p []byte) error {
	if s.file == nil && len(s.mem)+len(p) <= spoolMemory {
		s.mem = append(s.mem, p...)
		return nil
	}
	if s.file == nil {
		f, err := outfile.TempFile(s.tmp)
		if err != nil {
			return err
		}
		s.file = f
	}
	_, err := s.file.WriteAt(p, s.size-int64(len(s.mem)))
	return err
}

// close closes the pipe and the file. Closing a pipe ends a blocked read of the pipe. Standard
// input stays open, and close waits until a blocked read of standard input ends.
func (s *spool) close() error {
	s.in.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = os.ErrClosed
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}

type spoolReader struct {
	s   *spool
	off int64
}

func (r *spoolReader) Read(p []byte) (int, error) {
	n, err := r.s.readAt(p, r.off)
	r.off += int64(n)
	return n, err
}

// errBefore is the error for a negative offset in a file.
var errBefore = errors.New("got an offset before the start of the file")

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errBefore
	}
	done := 0
	for done < len(p) {
		n, err := s.readAt(p[done:], off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
