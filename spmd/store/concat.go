package store

import (
	"hash/crc32"
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// maxSkew limits the number of entries of a rank if each rank writes its own blocks. No rank may
// then hold more than maxSkew times the mean number of entries of the ranks. The limit does not
// apply to small results (smallResult).
const maxSkew = 2

// concat writes a .tcs file whose arrays are the concatenated arrays of the blocks.
type concat struct {
	t      *Blocks
	order  []int           // the numbers of the blocks, in storage order
	starts map[int][]int64 // for each block of this rank, its first position in each level
	shape  *tcs.Shape
	w      io.WriterAt
	lay    *tcsfile.File
}

// newConcat prepares the concatenation of the blocks' arrays. It returns nil, at every rank, if the
// arrays cannot simply be concatenated. There are three such cases: the method parts does not
// accept the blocks, the file needs other arrays than a block has, or one rank holds too many
// entries. Every rank must call newConcat.
func newConcat(c comm.Comm, t *Blocks) (*concat, error) {
	order, ok := t.parts()
	if !ok {
		return nil, nil
	}
	levels := len(t.Layout.Format.Levels)
	fine := t.hasTensorFormat()
	counts := make([]int64, len(t.Owners)*levels) // number of positions, by block and level
	share := make([]int64, c.Size())
	for _, k := range t.numbers() {
		b := t.Own[k]
		if fine = fine && isExact(b); !fine {
			break
		}
		for l := range b.Levels {
			counts[k*levels+l] = positions(b, l)
		}
		share[c.Rank()] += b.Vals.Len
	}
	if fine, err := agree(c, fine); err != nil || !fine {
		return nil, err
	}
	if err := c.Allreduce(comm.Of(share), comm.Sum); err != nil {
		return nil, err
	}
	if isSkewed(share) {
		return nil, nil
	}
	if err := c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
		return nil, err
	}
	x := &concat{t: t, order: order, starts: map[int][]int64{}}
	at := make([]int64, levels)
	for _, k := range order {
		if t.Own[k] != nil {
			x.starts[k] = append([]int64(nil), at...)
		}
		for l := range at {
			at[l] += counts[k*levels+l]
		}
	}
	x.shape = t.shape(at)
	var err error
	x.lay, err = tcsfile.NewFile(x.shape)
	return x, err
}

// parts returns the blocks in the order of their arrays in the file. ok is false if a mode other
// than the outermost stored one is cut, if the tensor has no level, or if the first level is single
// (tensor.Kind.IsSingle).
func (t *Blocks) parts() (order []int, ok bool) {
	if len(t.Layout.Format.Levels) == 0 || t.Layout.Format.Levels[0].IsSingle() {
		return nil, false
	}
	return t.rowwise(t.Layout.Format.Order[0])
}

// isSkewed reports whether some rank holds too many of the entries. share is the number of entries
// of each rank.
func isSkewed(share []int64) bool {
	total, most := int64(0), int64(0)
	for _, n := range share {
		total, most = total+n, max(most, n)
	}
	return float64(most) > maxSkew*float64(total)/float64(len(share)) && total > smallResult
}

// smallResult is the largest number of entries for which blocks are concatenated even if one rank
// holds most entries. One rank writes this number of entries quickly.
const smallResult = 1 << 16

// positions returns the number of positions in level l of block b. isExact(b) must be true.
func positions(b *tcs.Tensor, l int) int64 {
	if b.Levels[l].Form() != tensor.Full {
		return b.Levels[l].Crd.Len
	}
	r := b.Header.Range(b.Levels[l].Mode)
	if l == 0 {
		return r[1] - r[0]
	}
	return positions(b, l-1) * (r[1] - r[0])
}

// write writes this rank's blocks to w.
func (x *concat) write(w io.WriterAt) ([]coo.FileRange, error) {
	x.w = w
	var spans []coo.FileRange
	for i, sec := range x.lay.Sections() {
		for n, k := range x.order {
			b := x.t.Own[k]
			if b == nil {
				continue
			}
			span, err := x.section(sec, b, x.starts[k], n == 0)
			if err != nil {
				return nil, err
			}
			span.Section = int64(i)
			spans = append(spans, span)
		}
	}
	return spans, nil
}

// section writes the part of block b that belongs to a section of the file. start holds the
// position, in the whole tensor, at which b begins in each level. first says that b is the first
// block in storage order. Only the first block writes the first element of a pos array.
func (x *concat) section(sec tcs.Section, b *tcs.Tensor, start []int64, first bool) (coo.FileRange,
	error) {
	switch sec.Array {
	case tcs.ValsArray:
		return x.array(sec, b.Vals, start[len(start)-1], 0)
	case tcs.CrdArray:
		return x.array(sec, b.Levels[sec.Level].Crd, start[sec.Level], 0)
	}
	if sec.Level == 0 { // one segment over all blocks
		if !first {
			return coo.FileRange{}, nil
		}
		return x.array(sec, tcs.Of([]int64{0, x.shape.Counts[0]}), 0, 0)
	}
	// Each block writes the ends of its segments.
	pos := b.Levels[sec.Level].Pos
	shift := start[sec.Level] - pos.Int(0)
	if first {
		return x.array(sec, pos, 0, shift)
	}
	return x.array(sec, pos.Sub(1, pos.Len), start[sec.Level-1]+1, shift)
}

// piece is the number of bytes that are written at a time.
const piece = 1 << 20

// array writes the elements of a, each increased by shift, to section sec of the file. The first
// element is written to index start of the section. array returns the range of elements with its
// checksum.
func (x *concat) array(sec tcs.Section, a tcs.Array, start, shift int64) (coo.FileRange, error) {
	span := coo.FileRange{From: start, N: a.Len}
	width := int64(sec.Width)
	step := piece / width
	var buf []int64 // converted elements
	for i := int64(0); i < a.Len; i += step {
		part := a.Sub(i, min(i+step, a.Len))
		if a.Width != sec.Width || shift != 0 {
			if buf == nil {
				buf = make([]int64, (min(step, a.Len)*width+7)/8)
			}
			part = shifted(buf, part, sec.Width, shift)
		}
		bytes := part.Bytes()
		span.CRC = crc32.Update(span.CRC, crc32.IEEETable, bytes)
		if _, err := x.w.WriteAt(bytes, sec.Offset+(start+i)*width); err != nil {
			return span, err
		}
	}
	return span, nil
}

// shifted returns an array with the given elements, each increased by shift. Its elements are width
// bytes wide and are stored in the memory of buf. For crd arrays, where -1 marks padding, shift
// must be 0.
func shifted(buf []int64, array tcs.Array, width uint8, shift int64) tcs.Array {
	out := tcs.Of(buf)
	out.Width, out.Len = width, array.Len
	if array.Width == 4 && width == 4 {
		dst, d := tcs.Slice[int32](out), int32(shift)
		for i, v := range tcs.Slice[int32](array) {
			dst[i] = v + d
		}
		return out
	}
	for i := range array.Len {
		out.SetInt(i, array.Int(i)+shift)
	}
	return out
}
