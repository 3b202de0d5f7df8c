package npy

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// walker reads the entries of a sparse array in the order of the file.
type walker interface {
	// next reads up to most entries, and returns their number, or 0 at the end. It stores the
	// coordinates of mode m in at[m], and the values, with the file's type, in vals.
	next(at [][]int64, vals []byte, most int) (int, error)
	data() *elements
	close()
}

// sparse is the stream of a sparse array.
type sparse struct {
	a          *archive
	full       []int64 // the sizes in the file
	rows, cols int64   // the sizes of a matrix
	start      func() (walker, error)
	nat        tensor.Type
	count      int64 // the number of elements of data
	shape      shape

	w        walker
	own      coo.Batch
	raw, out buffer
	err      error
}

func (s *sparse) Dims() ([]int64, bool)         { return slices.Clone(s.shape.dims), true }
func (s *sparse) Type() tensor.Type             { return s.shape.typ }
func (s *sparse) Progress() (done, total int64) { return s.a.src.Progress() }

// NNZ returns an upper bound of the number of entries: the number of elements of the member data,
// which includes zeros of blocks and diagonals.
func (s *sparse) NNZ() int64 { return s.count }

func (s *sparse) Rewind() error {
	s.stop()
	s.a.src.Restart()
	s.err = nil
	return nil
}

func (s *sparse) stop() {
	if s.w != nil {
		s.w.close()
		s.w = nil
	}
}

func (s *sparse) Close() error {
	s.stop()
	s.err = io.ErrClosedPipe
	return s.a.src.Close()
}

// Next returns up to chunk entries.
func (s *sparse) Next(b *coo.Batch) error {
	if s.err == nil {
		s.err = s.next(b)
	}
	return s.err
}

func (s *sparse) next(b *coo.Batch) (err error) {
	if s.w == nil {
		if s.w, err = s.start(); err != nil {
			return err
		}
		if s.w.data().header.dtype.typ() != s.nat {
			return text.Dataf(s.a.src.Name, 0, 0, "the file changed while it was read")
		}
	}
	s.own.Resize(len(s.full), chunk, 0)
	vals := s.raw.bytes(chunk * int(s.nat.Size()))
	n, err := s.w.next(s.own.Coords, vals, chunk)
	if err != nil {
		return err
	}
	if n == 0 {
		s.stop()
		return io.EOF
	}
	if s.nat != s.shape.typ {
		to := s.out.bytes(chunk * int(s.shape.typ.Size()))
		if bad, err := tcs.ConvertValues(to, s.shape.typ, vals, s.nat, n); err != nil {
			bad = max(bad, 0)
			return text.Commandf(s.a.src.Name, 0, 0, "entry %s, counted from 1: %v",
				place(s.own.Coords, bad), err)
		}
		vals = to
	}
	b.N, b.Vals = n, vals[:n*int(s.shape.typ.Size())]
	b.Coords = b.Coords[:0]
	for _, m := range s.shape.keep {
		b.Coords = append(b.Coords, s.own.Coords[m][:n])
	}
	return nil
}

// place returns the coordinates of entry k as text for a message. In the text, the first coordinate
// of each mode is 1.
func place(at [][]int64, k int) string {
	var c []string
	for _, col := range at {
		c = append(c, fmt.Sprint(col[k]+1))
	}
	return "(" + strings.Join(c, ",") + ")"
}

// index reads an array of integers through a buffer.
type index struct {
	e    *elements
	name string // for messages
	buf  []int64
	pos  int
	at   int64 // the number of elements that were read
}

// next returns the next integer, which must be from lo to hi.
func (x *index) next(lo, hi int64) (int64, error) {
	if x.pos == len(x.buf) {
		if x.buf == nil {
			x.buf = make([]int64, chunk)
		}
		x.buf = x.buf[:cap(x.buf)]
		n, err := x.e.ints(x.buf)
		if err == nil && n == 0 {
			err = fmt.Errorf("got %s, want more", text.Plural(x.e.header.count, "element", "elements"))
		}
		if err != nil {
			return 0, fault(x.name, err)
		}
		x.buf, x.pos = x.buf[:n], 0
	}
	v := x.buf[x.pos]
	if v < lo || v > hi {
		return 0, text.Dataf(x.name, 0, 0, "got %d as element %d, want %d to %d", v, x.at,
			lo, hi)
	}
	x.pos++
	x.at++
	return v, nil
}

func (a *archive) index(name string) (*index, error) {
	e, err := a.integers(name)
	if err != nil {
		return nil, err
	}
	return &index{e: e, name: a.what(name)}, nil
}

func (x *index) close() {
	if x != nil {
		x.e.close()
	}
}
