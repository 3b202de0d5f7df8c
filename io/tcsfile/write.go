package tcsfile

import (
	"bufio"
	"distaff/io/tcs"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"distaff/io/outfile"
)

// WriteOptions are options for writing a file.
type WriteOptions struct {
	Compress bool       // with zstd, in chunks
	Wide     bool       // all pos and crd elements have 64 bits, even if 32 are enough
	Limit    *tcs.Limit // counts the buffers of compression; may be nil
}

// Write writes the tensor to path, or to standard output if path is "-". A regular file gets its
// name only when it is complete. A pipe or device is written directly. t must be a whole tensor, or
// a block that was assembled as a tensor of its own. It must not be a view.
func Write(path string, t *tcs.Tensor, o WriteOptions) error {
	f, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := WriteTo(f, t, o); err != nil {
		return f.Errorf(err)
	}
	return f.Commit()
}

// WriteTo writes the tensor as a .tcs file to w. The width of the file's arrays follows from the
// tensor's shape and o.Wide, even if the arrays in memory have another width. So the bytes of the
// file do not depend on how the tensor was made.
func WriteTo(w io.Writer, t *tcs.Tensor, o WriteOptions) error {
	if err := t.Load(o.Limit); err != nil {
		return err
	}
	shape, whole := t.Shape()
	if !whole {
		return &tcs.Error{Exit: exitRun,
			Msg: "got a view of a tensor, which cannot be a file; assemble the block first"}
	}
	shape.Wide = o.Wide
	h, err := newFileHeader(shape)
	if err != nil {
		return err
	}
	for i := range h.sections {
		sec := &h.sections[i]
		eachPiece(t, sec, func(b []byte) error {
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
	for i := range h.sections {
		sec := &h.sections[i]
		b.Write(make([]byte, sec.section.Offset-at))
		if err := eachPiece(t, sec, func(piece []byte) error {
			_, err := b.Write(piece)
			return err
		}); err != nil {
			return err
		}
		at = sec.section.Offset + sec.stored
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return t.Changed()
}

// eachPiece calls put, in order, with the bytes of the section's elements, converted to the width
// of the section. An array of t that already has that width is passed as one piece. Only other
// arrays are divided into pieces.
func eachPiece(t *tcs.Tensor, sec *fileSection, put func(b []byte) error) error {
	a, width := t.Array(sec.section.Level, sec.section.Array), sec.section.Width
	if a.Width == width {
		return put(a.Bytes())
	}
	const length = 1 << 16 // elements of a piece
	buf := make([]int64, min(a.Len, length))
	for at := int64(0); at < a.Len; at += length {
		piece := a.Sub(at, min(at+length, a.Len))
		if err := put(withWidth(piece, width, buf).Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// withWidth returns a pos or crd array with elements of the given width in bytes. If the array has
// that width, it returns the array itself. Otherwise it converts the elements into buf, which must
// have room for all of them.
func withWidth(a tcs.Array, width uint8, buf []int64) tcs.Array {
	if a.Width == width {
		return a
	}
	out := tcs.Of(buf)
	out.Width, out.Len = width, a.Len
	if width == 4 {
		dst := tcs.Slice[int32](out)
		for i, v := range tcs.Slice[int64](a) {
			dst[i] = int32(v)
		}
	} else {
		a.Ints(buf[:a.Len], 0)
	}
	return out
}

// newFileHeader returns the header of an uncompressed file for a tensor of shape s. The header has
// no checksums yet. Its statistics contain only the number of positions of each level.
func newFileHeader(s *tcs.Shape) (*fileHeader, error) {
	lay, err := s.Layout()
	if err != nil {
		return nil, err
	}
	h := &fileHeader{shape: *s, length: headerLen(len(s.Header.Dims), len(lay.Sections))}
	for _, sec := range lay.Sections {
		h.sections = append(h.sections, fileSection{section: sec})
	}
	h.stats.Levels = make([]tcs.LevelStats, len(s.Format.Levels))
	for l, n := range lay.Positions {
		h.stats.Levels[l].Positions = n
	}
	h.place()
	return h, nil
}

// place computes the offsets and lengths of the sections of an uncompressed file.
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

func alignUp(n int64) int64 { return (n + tcs.Align - 1) &^ (tcs.Align - 1) }

// writeCompressed writes the header, and the arrays compressed in chunks. Because the lengths of
// the compressed chunks precede the data, it first compresses all sections and keeps them in
// memory.
func (h *fileHeader) writeCompressed(w io.Writer, t *tcs.Tensor, limit *tcs.Limit) error {
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
		p, err := compress(*t.Array(sec.section.Level, sec.section.Array), sec.section.Width, h.chunk,
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
