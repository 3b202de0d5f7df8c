package tcs

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"distaff/io/outfile"
)

// WriteOptions are options for writing a file.
type WriteOptions struct {
	Compress bool   // with zstd, in chunks
	Wide     bool   // all pos and crd elements have 64 bits, even if 32 are enough
	Limit    *Limit // counts the buffers of compression; may be nil
}

// Write writes the tensor to path. A regular file appears complete or not at all; a pipe or
// device is written directly, and "-" is the standard output. The tensor must be a whole tensor
// or a block that was assembled by itself, not a view.
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

// WriteTo writes the tensor as a .tcs file to w. The width of the file's arrays follows from
// the tensor's shape, even if the arrays in memory are wider. So the bytes of the file do not
// depend on how the tensor was made.
func (t *Tensor) WriteTo(w io.Writer, o WriteOptions) error {
	if err := t.Load(o.Limit); err != nil {
		return err
	}
	shape, whole := t.Shape()
	if !whole {
		return &Error{Exit: exitRun,
			Msg: "a view of a tensor is no file of its own: assemble the block first"}
	}
	shape.Wide = o.Wide
	h, err := newFileHeader(shape)
	if err != nil {
		return err
	}
	for i := range h.sections {
		sec := &h.sections[i]
		t.array(sec.section.Level, sec.section.Array).eachPiece(sec.section.Width, func(b []byte) error {
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
		b.Write(make([]byte, sec.section.Offset-at))
		err := t.array(sec.section.Level, sec.section.Array).eachPiece(sec.section.Width,
			func(part []byte) error {
				_, err := b.Write(part)
				return err
			})
		if err != nil {
			return err
		}
		at = sec.section.Offset + sec.stored
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return t.Changed()
}

// newFileHeader returns the header of an uncompressed file of that shape. Of the statistics it
// sets only the numbers of positions. It does not set checksums.
func newFileHeader(s *Shape) (*fileHeader, error) {
	lay, err := s.Layout()
	if err != nil {
		return nil, err
	}
	h := &fileHeader{shape: *s, length: headerLen(len(s.Header.Dims), len(lay.Sections))}
	for _, sec := range lay.Sections {
		h.sections = append(h.sections, fileSection{section: sec})
	}
	h.stats.Levels = make([]LevelStats, len(s.Format.Levels))
	for l, n := range lay.Positions {
		h.stats.Levels[l].Positions = n
	}
	h.place()
	return h, nil
}

// place sets the offsets and lengths of the sections of an uncompressed file.
func (h *fileHeader) place() {
	at := h.length
	for i := range h.sections {
		sec := &h.sections[i]
		sec.stored = sec.section.Bytes()
		sec.section.Offset = alignUp(at)
		at = sec.section.Offset + sec.stored
	}
	h.total = at
}

func alignUp(n int64) int64 { return (n + Align - 1) &^ (Align - 1) }

// File is the layout of a .tcs file that is not written yet. Several processes may write the
// sections at their offsets in any order; the header is written last.
type File struct{ h *fileHeader }

// NewFile returns the layout of the file of a tensor of that shape.
func NewFile(s *Shape) (*File, error) {
	h, err := newFileHeader(s)
	if err != nil {
		return nil, err
	}
	return &File{h}, nil
}

// Sections returns the sections. Their Offset is relative to the start of the file.
func (f *File) Sections() []Section {
	s := make([]Section, len(f.h.sections))
	for i := range s {
		s[i] = f.h.sections[i].section
	}
	return s
}

// Size returns the length of the file in bytes.
func (f *File) Size() int64 { return f.h.total }

// HeaderSize returns the length of the header in bytes.
func (f *File) HeaderSize() int64 { return f.h.length }

// Header returns the bytes of the header. crcs is the CRC-32 of each section's bytes;
// CombineCRC computes it for sections that are written in pieces. st are the statistics; their
// Levels may be nil.
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

// writeCompressed writes the header and the arrays in zstd chunks. The lengths of the frames
// precede the data, so writeCompressed first compresses all sections and keeps their frames in
// memory.
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
		p, err := compress(*t.array(sec.section.Level, sec.section.Array), sec.section.Width, h.chunk,
			limit)
		if err != nil {
			return err
		}
		packed[i] = p
		sec.stored = p.stored
		sec.section.Offset = alignUp(at)
		at = sec.section.Offset + sec.stored
	}
	h.total = at
	b := bufio.NewWriterSize(w, 1<<20)
	b.Write(h.encode())
	at = h.length
	for i, sec := range h.sections {
		b.Write(make([]byte, sec.section.Offset-at))
		for _, c := range packed[i].chunks {
			binary.Write(b, binary.LittleEndian, uint64(len(c)))
		}
		for _, c := range packed[i].chunks {
			if _, err := b.Write(c); err != nil {
				return fmt.Errorf("section %d: %w", i, err)
			}
		}
		at = sec.section.Offset + sec.stored
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return t.Changed()
}
