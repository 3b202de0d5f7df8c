package store

import (
	"io"
	"os"

	"distaff/io/outfile"
	"distaff/io/tcs"
)

// spoolMemory is the approximate limit, in bytes, for text that a rank keeps in memory. The rest of
// a longer text goes to a temporary file. A rank must keep its text until it knows where the text
// begins in the file. spoolChunk is the size of the chunks of memory.
const (
	spoolMemory = 64 << 20
	spoolChunk  = 4 << 20
	spoolFirst  = 64 << 10 // size of the first chunk, for short texts
)

// spool stores text of unknown length until it can be written.
type spool struct {
	limit  *tcs.Limit
	tmp    string
	chunks [][]byte
	held   int64    // bytes of the chunks that are counted against limit
	file   *os.File // the text that did not fit into the chunks
	filed  int64
}

// length returns the number of bytes that were written.
func (s *spool) length() int64 {
	n := s.filed
	for _, c := range s.chunks {
		n += int64(len(c))
	}
	return n
}

func (s *spool) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) && s.file == nil {
		if k := len(s.chunks); k > 0 && len(s.chunks[k-1]) < cap(s.chunks[k-1]) {
			last := s.chunks[k-1]
			n := min(cap(last)-len(last), len(b)-done)
			s.chunks[k-1] = append(last, b[done:done+n]...)
			done += n
			continue
		}
		size := spoolChunk
		if len(s.chunks) == 0 {
			size = spoolFirst
		}
		if s.held < spoolMemory && s.limit.Reserve(int64(size), "text of the result") == nil {
			s.chunks, s.held = append(s.chunks, make([]byte, 0, size)), s.held+int64(size)
			continue
		}
		f, err := outfile.TempFile(s.tmp)
		if err != nil {
			return done, err
		}
		s.file = f
	}
	n, err := 0, error(nil)
	if s.file != nil {
		n, err = s.file.WriteAt(b[done:], s.filed)
		s.filed += int64(n)
	}
	return done + n, err
}

// writeTo writes everything to w, starting at off.
func (s *spool) writeTo(w io.WriterAt, off int64) error {
	for _, c := range s.chunks {
		if _, err := w.WriteAt(c, off); err != nil {
			return err
		}
		off += int64(len(c))
	}
	if s.file == nil {
		return nil
	}
	buf := make([]byte, 1<<20)
	_, err := io.CopyBuffer(io.NewOffsetWriter(w, off), io.NewSectionReader(s.file, 0, s.filed), buf)
	return err
}

func (s *spool) free() {
	s.limit.Release(s.held)
	s.chunks, s.held = nil, 0
	if s.file != nil {
		s.file.Close()
	}
}
