package tcs

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"distaff/io/outfile"
)

// WriteOptions say how a file is written.
type WriteOptions struct {
	Compress bool   // zstd by chunks
	Wide     bool   // all pos and crd arrays in 64 bits, whatever they hold
	Limit    *Limit // counts the buffers of compression; may be nil
}

// Write writes the tensor to path, which appears whole or not at all; a pipe or
// device is written as it comes, and "-" is standard output. The tensor must be
// a whole one or a block that was assembled on its own, not a view.
func Write(path string, t *Tensor, o WriteOptions) error {
	f, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := t.WriteTo(f, o); err != nil {
		return f.Errorf(err)
	}
	return f.Commit()
}

// WriteTo writes the tensor as a .tcs file to w. How wide the file's arrays are follows
// from the tensor's shape, not from its arrays, which may be wider than they must be: the
// bytes do not tell how the tensor was made.
func (t *Tensor) WriteTo(w io.Writer, o WriteOptions) error {
	if err := t.Load(o.Limit); err != nil {
		return err
	}
	shape, whole := t.Shape()
	if !whole {
		return &Error{Exit: exitRun, Msg: "a view of a tensor is no file of its own: assemble the block first"}
	}
	shape.Wide = o.Wide
	h, err := newFileHeader(shape)
	if err != nil {
		return err
	}
	for i := range h.sections {
		sec := &h.sections[i]
		t.array(sec.Level, sec.Array).each(sec.Width, func(b []byte) error {
			sec.crc = crc32.Update(sec.crc, crc32.IEEETable, b)
			return nil
		})
	}
	h.stats = t.Statistics()
	if o.Compress {
		return h.writeCompressed(w, t, o.Limit)
	}
	b := bufio.NewWriterSize(w, 1<<20)
	b.Write(h.encode())
	at := h.length
	for _, sec := range h.sections {
		b.Write(make([]byte, sec.Offset-at))
		err := t.array(sec.Level, sec.Array).each(sec.Width, func(part []byte) error {
			_, err := b.Write(part)
			return err
		})
		if err != nil {
			return err
		}
		at = sec.Offset + sec.stored
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return t.Changed()
}

// newFileHeader is the header of a file of that shape, uncompressed, without
// checksums and statistics of children.
func newFileHeader(s *Shape) (*fileHeader, error) {
	lay, err := s.Layout()
	if err != nil {
		return nil, err
	}
	h := &fileHeader{shape: *s, length: headerLen(len(s.Dims), len(lay.Sections))}
	for _, sec := range lay.Sections {
		h.sections = append(h.sections, fileSection{Section: sec})
	}
	h.stats.Levels = make([]LevelStats, len(s.Kinds))
	for l, n := range lay.Positions {
		h.stats.Levels[l].Positions = n
	}
	h.place()
	return h, nil
}

// place gives the sections of an uncompressed file their places.
func (h *fileHeader) place() {
	at := h.length
	for i := range h.sections {
		sec := &h.sections[i]
		sec.stored = sec.Bytes()
		sec.Offset = alignUp(at)
		at = sec.Offset + sec.stored
	}
	h.total = at
}

func alignUp(n int64) int64 { return (n + Align - 1) &^ (Align - 1) }

// A File is a .tcs file laid out before it is filled: its sections may be
// written at their offsets in any order, by several processes, and the header
// last.
type File struct{ h *fileHeader }

// NewFile lays out the file of a tensor of that shape.
func NewFile(s *Shape) (*File, error) {
	h, err := newFileHeader(s)
	if err != nil {
		return nil, err
	}
	return &File{h}, nil
}

// Sections are the arrays' places; Offset is from the file's start.
func (f *File) Sections() []Section {
	s := make([]Section, len(f.h.sections))
	for i := range s {
		s[i] = f.h.sections[i].Section
	}
	return s
}

// Size is the file's length, and HeaderSize that of its header.
func (f *File) Size() int64       { return f.h.total }
func (f *File) HeaderSize() int64 { return f.h.length }

// Header is the header's bytes, given the CRC-32 of every section's bytes (see
// CombineCRC for sections written in pieces) and the statistics; Levels of
// those may be nil.
func (f *File) Header(crcs []uint32, st Stats) []byte {
	if len(crcs) != len(f.h.sections) {
		panic("BUG: tcs: a checksum for every section is needed")
	}
	h := *f.h
	h.sections = append([]fileSection(nil), f.h.sections...)
	for i := range crcs {
		h.sections[i].crc = crcs[i]
	}
	levels := append([]LevelStats(nil), f.h.stats.Levels...)
	for l := range st.Levels {
		levels[l].Empty, levels[l].Most = st.Levels[l].Empty, st.Levels[l].Most
	}
	st.Levels = levels
	h.stats = st
	return h.encode()
}

// writeCompressed writes the header and the arrays in zstd chunks. Lengths come
// before the data, so each section's frames are made first, and held.
func (h *fileHeader) writeCompressed(w io.Writer, t *Tensor, limit *Limit) error {
	h.compress, h.chunk = compressZstd, defaultChunk
	packed := make([]*frames, len(h.sections))
	defer func() {
		for _, p := range packed {
			p.release(limit)
		}
	}()
	at := h.length
	for i := range h.sections {
		sec := &h.sections[i]
		p, err := compress(*t.array(sec.Level, sec.Array), sec.Width, h.chunk, limit)
		if err != nil {
			return err
		}
		packed[i] = p
		sec.stored = p.stored
		sec.Offset = alignUp(at)
		at = sec.Offset + sec.stored
	}
	h.total = at
	b := bufio.NewWriterSize(w, 1<<20)
	b.Write(h.encode())
	at = h.length
	for i, sec := range h.sections {
		b.Write(make([]byte, sec.Offset-at))
		for _, c := range packed[i].chunks {
			binary.Write(b, binary.LittleEndian, uint64(len(c)))
		}
		for _, c := range packed[i].chunks {
			if _, err := b.Write(c); err != nil {
				return fmt.Errorf("section %d: %w", i, err)
			}
		}
		at = sec.Offset + sec.stored
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return t.Changed()
}
