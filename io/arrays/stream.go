package arrays

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
	data() *Elements
	close()
}

// sparse is the stream of a sparse array.
type sparse struct {
	f          File
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
func (s *sparse) Progress() (done, total int64) { return s.f.Source().Progress() }

// NNZ returns an upper bound of the number of entries: the number of elements of the member data,
// which includes zeros of blocks and diagonals.
func (s *sparse) NNZ() int64 { return s.count }

func (s *sparse) Rewind() error {
	s.stop()
	s.f.Source().Restart()
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
	return s.f.Source().Close()
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
		if s.w.data().Header.Elem.Type() != s.nat {
			return text.Dataf(s.f.Source().Name, 0, 0, "the file changed while it was read")
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
			return text.Commandf(s.f.Source().Name, 0, 0, "entry %s, counted from 1: %v",
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
	e    *Elements
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
		n, err := x.e.Ints(x.buf)
		if err == nil && n == 0 {
			err = fmt.Errorf("got %s, want more", text.Plural(x.e.Header.Count, "element", "elements"))
		}
		if err != nil {
			return 0, Fault(x.name, err)
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

func openIndex(f File, name string) (*index, error) {
	e, err := openIntegers(f, name)
	if err != nil {
		return nil, err
	}
	return &index{e: e, name: f.What(name)}, nil
}

func (x *index) close() {
	if x != nil {
		x.e.Close()
	}
}

// Kind is a way to store a sparse tensor in arrays.
type Kind string

// The arrays of each kind have SciPy's names.
const (
	CSR    Kind = "csr"    // indptr, indices, data
	CSC    Kind = "csc"    // indptr, indices, data
	BSR    Kind = "bsr"    // indptr, indices, data: an array of blocks
	COO    Kind = "coo"    // row, col, data
	DIA    Kind = "dia"    // offsets, data
	Points Kind = "points" // coords, data: a tensor of any order
	// Blocks is BSR as a tensor of four modes: row and column of a block, and row and column in the
	// block.
	Blocks Kind = "blocks"
)

// NewSparse returns a stream of the entries of a sparse tensor whose arrays are in f. dims are the
// sizes. A matrix may have a single size: then it has one row and is read as a vector. The stream
// owns the Source of f.
func NewSparse(f File, kind Kind, dims []int64, opt coo.Options) (coo.Stream, error) {
	s := &sparse{f: f, full: dims}
	if kind != Points {
		if len(dims) == 1 { // SciPy's array of one dimension is stored as a row
			s.full = []int64{1, dims[0]}
		}
		s.rows, s.cols = s.full[0], s.full[1]
	}
	s.start = func() (walker, error) {
		switch kind {
		case CSR, CSC:
			return openCompressed(f, s, kind == CSC)
		case BSR, Blocks:
			return openBlocks(f, s)
		case COO:
			return openCoordinates(f, s)
		case DIA:
			return openDiagonals(f, s)
		case Points:
			return openPoints(f, s)
		}
		panic("BUG: arrays: a sparse tensor of kind " + string(kind))
	}
	w, err := s.start()
	if err != nil {
		return nil, err
	}
	if b, ok := w.(*blocks); ok && kind == Blocks {
		s.full = []int64{b.inner.rows, b.inner.cols, b.r, b.c}
		dims = s.full
	}
	elems := w.data().Header
	s.nat, s.count = elems.Elem.Type(), elems.Count
	w.close()
	if s.nat == tensor.None {
		return nil, text.Dataf(f.What("data"), 0, 0, "got an array of strings, want numbers")
	}
	s.shape, err = fit(f.Source().Name, dims, elems.Elem, opt)
	if len(dims) < len(s.full) {
		s.shape.keep = []int{1}
	}
	return s, err
}
