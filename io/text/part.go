package text

import (
	"bytes"
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// A Parted stream is one whose file can be read in parts, by several readers
// that need not be in one process.
type Parted interface {
	coo.Stream
	// Head is what the format's OpenPart must be told to read another part; nil
	// where the file can't be read in parts: a pipe, a compressed file.
	Head() []byte
}

// A Part is a stream of the lines that begin in one of several even shares of
// a file. Parts, one after another, have the entries of the whole file, and
// the first mistake in them is the file's, with the same words and place.
type Part interface {
	coo.Stream
	coo.Sizable
	// Ordinals tells whether entries take their coordinates from their place in
	// the file; then Begin must be told how many are before the part, which
	// Count counts in each.
	Ordinals() bool
	// Count is how many entries the part has, up to what it can't read.
	Count() int64
	Begin(before int64)
	// Seen is how many entries were read so far, up to the first mistake.
	Seen() int64
	// Settle holds what was seen, up to the end of the part or to a mistake,
	// against the number of entries that the file announces. before is how many
	// are before the part, last whether nothing follows it.
	Settle(before int64, last bool) error
}

// A Marked part has entries of several kinds, not all of which may be in one file.
type Marked interface {
	// Marks are the kinds that were read so far, a bit each.
	Marks() uint8
	// Suspect tells whether a file with all those kinds may be wrong.
	Suspect(marks uint8) bool
	// Judge finds out whether the file is, which takes a reading of all of it.
	Judge() error
}

// Header is the part of a Head that every format has.
type Header struct{ Size int64 }

// Check refuses a file of another size than the one whose head was read.
func (h Header) Check(s *Source) error {
	if f, size := s.Plain(); f == nil || size != h.Size {
		return Dataf(s.Name, 0, 0, "another file is there than where its head was read: %s, want %d", tcs.Count(s.size, "byte"), h.Size)
	}
	return nil
}

// lineRange is the lines of a plain file that begin in [from, to), where lines
// begin at start and after every '\n' that follows.
type lineRange struct {
	src             *Source
	start, from, to int64
	above           int // lines from start to first, once counted
	counted         bool
	first           int64 // offset of the first line
}

// probe is how much is read at a time in search of a line's end.
const probe = 1 << 16

// lineEnd is the offset after the first '\n' at or after off, or limit where
// there is none before it.
func (l *lineRange) lineEnd(off, limit int64) (int64, error) {
	buf := make([]byte, probe)
	for off < limit {
		n := min(int64(len(buf)), limit-off)
		m, err := l.src.readAt(buf[:n], off)
		if err != nil {
			return 0, err
		}
		if i := bytes.IndexByte(buf[:m], '\n'); i >= 0 {
			return off + int64(i) + 1, nil
		}
		off += int64(m)
	}
	return limit, nil
}

// reader reads the lines. It looks for the first one's start in the range only:
// a line that fills the range belongs to an earlier one.
func (l *lineRange) reader() (io.ReadCloser, error) {
	l.src.Restart()
	l.first = l.from
	if l.from > l.start && l.from < l.to {
		end, err := l.lineEnd(l.from-1, l.to)
		if err != nil {
			return nil, err
		}
		l.first = end
	}
	return &lineReader{l: l, off: l.first, done: l.first >= l.to}, nil
}

// linesAbove counts the lines from start to the range's first line.
func (l *lineRange) linesAbove() int {
	if l.counted {
		return l.above
	}
	l.counted, l.above = true, 0
	buf := make([]byte, 1<<20)
	for off := l.start; off < l.first; {
		n, err := l.src.readAt(buf[:min(int64(len(buf)), l.first-off)], off)
		if err != nil {
			break // the place in a message about a file that goes away
		}
		l.above += bytes.Count(buf[:n], []byte{'\n'})
		if off += int64(n); off == l.src.size && buf[n-1] != '\n' {
			l.above++ // a last line without an end
		}
	}
	return l.above
}

// lineReader reads from off on: all before the range's end, and what is left of
// the line that crosses it.
type lineReader struct {
	l    *lineRange
	off  int64
	done bool
}

func (r *lineReader) Close() error { return nil }

func (r *lineReader) Read(p []byte) (int, error) {
	if r.done || r.off >= r.l.src.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	// The byte before the end decides whether a line crosses it.
	last := r.l.to - 1
	n := last - r.off
	if n <= 0 {
		n = min(probe, r.l.src.size-r.off)
	}
	m, err := r.l.src.readAt(p[:min(n, int64(len(p)))], r.off)
	if err != nil {
		return 0, err
	}
	if r.off >= last {
		if i := bytes.IndexByte(p[:m], '\n'); i >= 0 {
			m, r.done = i+1, true
		}
	}
	r.off += int64(m)
	return m, nil
}

// readAt reads some bytes at off of a plain file, at least one.
func (s *Source) readAt(p []byte, off int64) (int, error) {
	n, err := s.file.ReadAt(p, off)
	s.done.Add(int64(n))
	if n > 0 {
		return n, nil
	}
	if err == io.EOF {
		return 0, Dataf(s.Name, 0, 0, "the file became shorter while it was read")
	}
	return 0, s.wrap(err, "")
}
