package tcsfile

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// The layout of the header. docs/tcs.md describes it for other programs.
const (
	magic   = "\x89TCS\r\n\x1a\n" // a copy in text mode damages it, like PNG's
	version = 1

	fixedLen   = 128 // bytes of the header's fixed part
	modeLen    = 64  // bytes of a mode's entry
	levelLen   = 64  // bytes of a level's entry
	sectionLen = 64  // bytes of a section's entry
	maxHeader  = fixedLen + tcs.MaxOrder*(modeLen+levelLen+2*sectionLen) + sectionLen
)

// Compression of a file's arrays.
const (
	compressNone = 0
	compressZstd = 1
)

// fileSection is an entry of the file's section table.
type fileSection struct {
	section tcs.Section // its Offset is relative to the start of the file
	stored  int64       // bytes in the file, after compression
	crc     uint32
}

// fileHeader is a decoded file header.
type fileHeader struct {
	shape    tcs.Shape
	stats    tcs.Stats
	sections []fileSection
	length   int64 // bytes of the header
	total    int64 // bytes of the file
	compress uint8
	chunk    int64 // bytes of a chunk before compression
	crc      uint32
}

func headerLen(order, sections int) int64 {
	return fixedLen + int64(order)*(modeLen+levelLen) + int64(sections)*sectionLen
}

// encode returns the bytes of the header, and sets h.crc.
func (h *fileHeader) encode() []byte {
	b := make([]byte, h.length)
	le := binary.LittleEndian
	s := &h.shape
	copy(b, magic)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], uint32(h.length))
	le.PutUint64(b[16:], uint64(h.total))
	le.PutUint32(b[24:], uint32(len(s.Header.Dims)))
	b[28], b[29], b[30] = byte(s.Header.Type), uint8(bits.TrailingZeros(tcs.Align)), h.compress
	le.PutUint32(b[32:], uint32(h.chunk))
	le.PutUint32(b[36:], uint32(len(h.sections)))
	le.PutUint64(b[40:], uint64(h.stats.Entries))
	le.PutUint64(b[48:], uint64(h.stats.EmptySlices))
	le.PutUint64(b[56:], uint64(h.stats.MaxSlice))
	at := fixedLen
	for m := range s.Header.Dims {
		r := s.Header.Range(m)
		split := tcs.Split{Index: 0, Count: 1}
		if s.Header.Splits != nil {
			split = s.Header.Splits[m]
		}
		for i, v := range []int64{s.Header.Dims[m], r[0], r[1], split.Index, split.Count} {
			le.PutUint64(b[at+8*i:], uint64(v))
		}
		at += modeLen
	}
	for l := range s.Format.Levels {
		b[at] = byte(s.Format.Levels[l])
		m := s.Format.Order[l]
		le.PutUint32(b[at+4:], uint32(m))
		if s.Format.Levels[l].Form() == tensor.Full {
			r := s.Header.Range(m)
			le.PutUint64(b[at+8:], uint64(r[1]-r[0]))
			le.PutUint64(b[at+16:], uint64(r[0]))
		}
		st := h.stats.Levels[l]
		le.PutUint64(b[at+24:], uint64(st.Positions))
		le.PutUint64(b[at+32:], uint64(st.Empty))
		le.PutUint64(b[at+40:], uint64(st.Most))
		at += levelLen
	}
	for _, sec := range h.sections {
		le.PutUint32(b[at:], uint32(int32(sec.section.Level)))
		b[at+4], b[at+5] = byte(sec.section.Array), sec.section.Width
		le.PutUint64(b[at+8:], uint64(sec.section.Offset))
		le.PutUint64(b[at+16:], uint64(sec.stored))
		le.PutUint64(b[at+24:], uint64(sec.section.Len))
		le.PutUint32(b[at+32:], sec.crc)
		at += sectionLen
	}
	h.crc = crc32.ChecksumIEEE(b) // computed while the checksum's own bytes are zero
	le.PutUint32(b[124:], h.crc)
	return b
}

// headerReader decodes fields, and keeps the first error.
type headerReader struct {
	b   []byte
	err error
}

func (r *headerReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// size reads the number at the given offset of the header. If the number is not from 0 to MaxCount,
// size records an error and returns 0. The string what names the number in the error.
func (r *headerReader) size(offset int, what string) int64 {
	v := binary.LittleEndian.Uint64(r.b[offset:])
	if v > tensor.MaxCount {
		r.fail("%s is %d, want less than 2^62", what, v)
		return 0
	}
	return int64(v)
}

func (r *headerReader) zero(from, to int) {
	for i := from; i < to; i++ {
		if r.b[i] != 0 {
			r.fail("reserved byte %d of the header is %#x, want 0", i, r.b[i])
			return
		}
	}
}

// decodeFixed decodes the fixed part of the header of a file. size is the length of the file in
// bytes, or negative if it is not known.
func decodeFixed(b []byte, size int64) (h *fileHeader, order, sections int, err error) {
	le := binary.LittleEndian
	if len(b) < 8 || string(b[:8]) != magic {
		return nil, 0, 0, fmt.Errorf("not a .tcs file: got %q at the start, want %q",
			b[:min(len(b), 8)], magic)
	}
	if len(b) < fixedLen {
		return nil, 0, 0, fmt.Errorf("the file is truncated: it has %s, but its header needs %d",
			tensor.Count(len(b), "byte"), fixedLen)
	}
	if v := le.Uint32(b[8:]); v != version {
		return nil, 0, 0, fmt.Errorf("got version %d of the format, want version %d",
			v, version)
	}
	r := &headerReader{b: b}
	h = &fileHeader{length: int64(le.Uint32(b[12:])), total: r.size(16, "the file's length"),
		compress: b[30], chunk: int64(le.Uint32(b[32:]))}
	order, sections = int(le.Uint32(b[24:])), int(le.Uint32(b[36:]))
	h.shape.Header.Type = tensor.Type(b[28])
	h.stats.Entries, h.stats.EmptySlices, h.stats.MaxSlice = r.size(40, "the count of entries"),
		r.size(48, "the count of empty slices"), r.size(56, "the largest slice")
	switch {
	case r.err != nil:
	case order > tcs.MaxOrder:
		r.fail("got %d modes, want at most %d", order, tcs.MaxOrder)
	case sections > 2*order+1 || sections < 1:
		r.fail("got %s for %s, want 1 to %d",
			tensor.Count(sections, "section"), tensor.Count(order, "level"), 2*order+1)
	case h.length != headerLen(order, sections):
		r.fail("got a header of %d bytes, want %d for %s and %s",
			h.length, headerLen(order, sections),
			tensor.Count(order, "mode"), tensor.Count(sections, "section"))
	case !h.shape.Header.Type.IsValue():
		r.fail("got the unknown value type %d", b[28])
	case b[29] != 6:
		r.fail("got the alignment 2^%d, want 2^6", b[29])
	case h.compress > compressZstd:
		r.fail("got the unknown compression %d", h.compress)
	case h.compress == compressZstd && (h.chunk < 1<<10 || h.chunk > maxChunk || h.chunk%16 != 0):
		r.fail("got chunks of %s, want 1024 to %d", tensor.Count(h.chunk, "byte"), maxChunk)
	case h.compress == compressNone && h.chunk != 0:
		r.fail("got chunks of %s in a file that is not compressed, want 0",
			tensor.Count(h.chunk, "byte"))
	case size >= 0 && h.total != size:
		if size < h.total {
			r.fail("truncated: got %s, but the header says %d",
				tensor.Count(size, "byte"), h.total)
		}
		r.fail("got %s, but the header says %d", tensor.Count(size, "byte"), h.total)
	case h.total < h.length:
		r.fail("got a file of %s with a header of %d", tensor.Count(h.total, "byte"), h.length)
	}
	r.zero(31, 32)
	r.zero(64, 124)
	return h, order, sections, r.err
}

// decodeTables decodes the tables that follow the fixed part. b is the whole header. It checks
// that all fields agree.
func (h *fileHeader) decodeTables(b []byte, order, sections int) error {
	le := binary.LittleEndian
	h.crc = le.Uint32(b[124:])
	sum := crc32.ChecksumIEEE(b[:124])
	sum = crc32.Update(sum, crc32.IEEETable, []byte{0, 0, 0, 0})
	if sum = crc32.Update(sum, crc32.IEEETable, b[128:]); sum != h.crc {
		return fmt.Errorf("the header is corrupt: checksum %08x, want %08x", sum, h.crc)
	}
	r := &headerReader{b: b}
	s := &h.shape
	at := fixedLen
	split := false
	for m := range order {
		what := fmt.Sprintf("of mode %d", m)
		n, lo, hi := r.size(at, "the size "+what), r.size(at+8, "the box "+what),
			r.size(at+16, "the box "+what)
		sp := tcs.Split{Index: r.size(at+24, "the split index "+what),
			Count: r.size(at+32, "the split count "+what)}
		if err := tensor.CheckSize(n); err != nil {
			r.fail("mode %d (byte %d): %v", m, at, err)
		}
		if lo > hi || hi > n {
			r.fail("got the box [%d,%d) for mode %d, want one in [0,%d)", lo, hi, m, n)
		}
		if sp.Index >= sp.Count {
			r.fail("got block %d of %d in mode %d", sp.Index, sp.Count, m)
		}
		split = split || sp.Count != 1
		s.Header.Dims, s.Header.Box, s.Header.Splits = append(s.Header.Dims, n),
			append(s.Header.Box, [2]int64{lo, hi}),
			append(s.Header.Splits, sp)
		r.zero(at+40, at+modeLen)
		at += modeLen
	}
	if !split {
		s.Header.Splits = nil
	}
	for l := range order {
		kind := tensor.Kind(b[at])
		s.Format.Levels = append(s.Format.Levels, kind)
		m := le.Uint32(b[at+4:])
		s.Format.Order = append(s.Format.Order, int(m))
		size, off := r.size(at+8, "a dense size"), r.size(at+16, "a dense offset")
		if kind != tensor.Dense { // CheckFormat refuses unknown letters below
			if size != 0 || off != 0 {
				r.fail("level %d is not dense, but has a dense size or offset", l)
			}
		} else if m < uint32(order) &&
			(off != s.Header.Box[m][0] || size != s.Header.Box[m][1]-s.Header.Box[m][0]) {
			r.fail("dense level %d has offset %d and size %d, but the box is [%d,%d)",
				l, off, size,
				s.Header.Box[m][0], s.Header.Box[m][1])
		}
		h.stats.Levels = append(h.stats.Levels,
			tcs.LevelStats{Positions: r.size(at+24, "a count of positions"),
				Empty: r.size(at+32, "a count of empty parents"),
				Most:  r.size(at+40, "a count of children")})
		r.zero(at+1, at+4)
		r.zero(at+48, at+levelLen)
		at += levelLen
	}
	if err := tcs.CheckFormat(s.Format, order); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	for range sections {
		sec := fileSection{section: tcs.Section{Level: int(int32(le.Uint32(b[at:]))),
			Array: tcs.ArrayKind(b[at+4]), Width: b[at+5],
			Offset: r.size(at+8, "a section's offset"), Len: r.size(at+24, "a section's count")},
			stored: r.size(at+16, "a section's length"), crc: le.Uint32(b[at+32:])}
		h.sections = append(h.sections, sec)
		r.zero(at+6, at+8)
		r.zero(at+36, at+sectionLen)
		at += sectionLen
	}
	if r.err != nil {
		return r.err
	}
	return h.checkSections()
}

// checkSections checks the section table against the layout of the shape and the length of the
// file.
func (h *fileHeader) checkSections() error {
	s := &h.shape
	s.Counts = make([]int64, len(s.Format.Levels))
	for l := range s.Format.Levels {
		s.Counts[l] = h.stats.Levels[l].Positions
	}
	lay, err := s.Layout()
	if err != nil {
		return err
	}
	if len(lay.Sections) != len(h.sections) {
		return fmt.Errorf("got %d sections, want %d for levels %s",
			len(h.sections), len(lay.Sections),
			s.Format.Levels)
	}
	end := h.length
	for i := range h.sections {
		got, want := &h.sections[i], lay.Sections[i]
		what := fmt.Sprintf("section %d (%v of level %d)", i, want.Array, want.Level)
		switch {
		case got.section.Level != want.Level || got.section.Array != want.Array:
			return fmt.Errorf("section %d stores array %d of level %d, want %v of level %d", i,
				got.section.Array, got.section.Level, want.Array, want.Level)
		case got.section.Len != want.Len:
			return fmt.Errorf("%s has %s, want %d", what, tensor.Count(got.section.Len, "element"),
				want.Len)
		case want.Array == tcs.ValsArray && got.section.Width != want.Width,
			want.Array != tcs.ValsArray && got.section.Width != 4 && got.section.Width != 8,
			got.section.Width < want.Width:
			return fmt.Errorf("each element of %s has %s, want %d", what,
				tensor.Count(int(got.section.Width), "byte"),
				want.Width)
		case got.section.Offset%tcs.Align != 0 || got.section.Offset < end:
			return fmt.Errorf("%s begins at byte %d, want a multiple of %d that is at least %d", what,
				got.section.Offset, tcs.Align, end)
		case got.section.Bytes()/int64(got.section.Width) != got.section.Len:
			return fmt.Errorf("%s is too long", what)
		case h.compress == compressNone && got.stored != got.section.Bytes():
			return fmt.Errorf("%s has %s, want %d", what, tensor.Count(got.stored, "byte"),
				got.section.Bytes())
		case h.compress == compressZstd && got.stored < 8*chunks(got.section.Bytes(), h.chunk):
			return fmt.Errorf("%s has %s, but its table of chunks alone has more", what,
				tensor.Count(got.stored, "byte"))
		case got.section.Offset > h.total || got.stored > h.total-got.section.Offset:
			return fmt.Errorf("%s ends at byte %d, but the file ends at byte %d", what,
				got.section.Offset+got.stored, h.total)
		}
		end = got.section.Offset + got.stored
	}
	if h.total != end {
		return fmt.Errorf("got %s after the last section, want none",
			tensor.Count(h.total-end, "byte"))
	}
	n := int64(1)
	for l, st := range h.stats.Levels {
		if st.Positions != lay.Positions[l] {
			return fmt.Errorf(
				"the header gives level %d %s, but the level's arrays have %d",
				l, tensor.Count(st.Positions, "position"),
				lay.Positions[l])
		}
		n = st.Positions
	}
	if h.stats.Entries > n {
		return fmt.Errorf("the header says that there are %s, but there are only %s",
			tensor.Count(h.stats.Entries, "entry"), tensor.Count(n, "value"))
	}
	return nil
}
