package text

import (
	"bytes"
	"encoding/gob"
	"io"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// PartedStream is a stream whose file can be read in parts by several readers, which may be in
// different processes.
type PartedStream interface {
	coo.Stream
	// Head returns the data that the format's OpenPart needs to read a part. It is nil if the
	// file can't be read in parts: a pipe, or a compressed file.
	Head() []byte
}

// Part is a stream of the lines that begin in one of several equal shares of a file. All parts in
// order have the entries of the whole file. The first error in the parts has the same message and
// place as if the file were read as one stream.
type Part interface {
	coo.Stream
	coo.Sizable
	// Ordinals reports whether the coordinates of an entry follow from its place in the file. If
	// they do, Begin must be called with the number of entries before the part, which is the sum of
	// Count of the earlier parts.
	Ordinals() bool
	// Count returns the number of entries of the part, up to the first one that it can't read.
	Count() int64
	// Begin sets the number of entries before the part.
	Begin(before int64)
	// Seen returns the number of entries read so far, up to the first error. A part whose
	// CheckCount does nothing may return 0.
	Seen() int64
	// CheckCount returns an error if the file announces its number of entries and the number of
	// entries read so far differs. before is the number of entries before the part. last is true
	// for the last part of the file.
	CheckCount(before int64, last bool) error
}

// Marked is a part that distinguishes kinds of entries, for example above and below the diagonal.
// In some files certain kinds must not occur together. A single part cannot check this, so the
// kinds of all parts are compared.
type Marked interface {
	// Marks returns the kinds of the entries read so far, one bit each.
	Marks() uint8
	// Suspect reports whether a file that has these kinds may be wrong.
	Suspect(marks uint8) bool
	// CheckWholeFile reads the whole file and returns an error if the kinds make it wrong.
	CheckWholeFile() error
}

// Header contains what the head of a file records in every format: the size of the file in bytes.
// The Head of each format contains a Header.
type Header struct{ Size int64 }

// Check returns an error if the file s is not plain, or its size changed since its head was
// read.
func (h Header) Check(s *Source) error {
	if f, size := s.Plain(); f == nil || size != h.Size {
		return Dataf(s.Name, 0, 0,
			"the file was replaced while it was read: it has %s now, but had %d",
			tensor.Count(s.size, "byte"), h.Size)
	}
	return nil
}

// EncodeHead encodes the head of src for OpenPart. It returns nil if src can't be read in parts.
func EncodeHead(src *Source, head any) []byte {
	if f, _ := src.Plain(); f == nil {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(head); err != nil {
		panic("BUG: text: a head does not encode: " + err.Error())
	}
	return b.Bytes()
}

// OpenPart opens the file at path and returns the part that open makes of it. encoded is the head
// of the file, from EncodeHead, so open does not read the start of the file again. Unless open
// returns an error, the part owns the file. tmp is the folder of temporary files.
func OpenPart[Head any](path string, encoded []byte, tmp string,
	open func(src *Source, h *Head) (Part, error)) (Part, error) {
	h := new(Head)
	if err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(h); err != nil {
		panic("BUG: text: a head does not decode: " + err.Error())
	}
	src, err := OpenSource(path, tmp)
	if err != nil {
		return nil, err
	}
	p, err := open(src, h)
	if err != nil {
		src.Close()
		return nil, err
	}
	return p, nil
}

// lineRange contains the lines of a plain file that begin at an offset in [from, to). The first
// line of entries begins at the offset start. Every other line begins after a '\n' that follows
// start.
type lineRange struct {
	src             *Source
	start, from, to int64
	above           int // lines from start to first; valid if counted
	counted         bool
	first           int64 // the offset of the first line of the range
}

// probeSize is the number of bytes that are read at a time to find a line's end.
const probeSize = 1 << 16

// lineEnd returns the offset after the first '\n' at or after off, or limit if there is none
// before limit.
func (l *lineRange) lineEnd(off, limit int64) (int64, error) {
	buf := make([]byte, probeSize)
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

// reader returns a reader of the lines. If a single line fills the range and began before it, no
// line begins in the range, and the reader is empty.
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

// linesAbove returns the number of lines between the offset start, where the entries of the file
// begin, and the first line of the range.
func (l *lineRange) linesAbove() int {
	if l.counted {
		return l.above
	}
	l.counted, l.above = true, 0
	buf := make([]byte, 1<<20)
	for off := l.start; off < l.first; {
		n, err := l.src.readAt(buf[:min(int64(len(buf)), l.first-off)], off)
		if err != nil {
			break // the file disappeared; the message has a wrong line number
		}
		l.above += bytes.Count(buf[:n], []byte{'\n'})
		if off += int64(n); off == l.src.size && buf[n-1] != '\n' {
			l.above++ // the last line has no end
		}
	}
	return l.above
}

// lineReader reads from offset off to the end of the line that contains the last byte of the
// range.
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
	// The range's last byte decides whether a line crosses the end of the range.
	last := r.l.to - 1
	n := last - r.off
	if n <= 0 {
		n = min(probeSize, r.l.src.size-r.off)
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

// readAt reads at least one byte, and at most len(p), at offset off of a plain file.
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
