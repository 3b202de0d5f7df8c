package mtx

import (
	"math"
	"slices"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Open reads path as a stream of entries in the file's order, with exact sizes. If opt asks for one
// mode, a general matrix of one column or row is read as a vector. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, New) }

// New returns a stream of the entries of src. The stream owns src.
func New(src *text.Source, opt coo.Options) (coo.Stream, error) {
	h, err := readHeader(src)
	if err != nil {
		return nil, err
	}
	s, err := open(src, h, opt)
	if err == nil && h.note != "" && opt.Note != nil {
		opt.Note(h.note)
	}
	if err == nil && h.ones && opt.Note != nil {
		opt.Note(tensor.Printable(src.Name) + ": the column of ones after a pattern's " +
			"coordinates is ignored")
	}
	return s, err
}

// NewArray returns a stream of a dense tensor whose real values src lists, one a line and the first
// mode fastest. dims are the sizes, which are in line sizeLine. The values begin at offset start,
// after the given number of lines. Other programs write such files without a banner. The stream
// owns src.
func NewArray(src *text.Source, dims []int64, sizeLine int, start int64, lines int,
	opt coo.Options) (coo.Stream, error) {
	if err := tensor.CheckSpace(dims, tensor.Complex128.Size()); err != nil {
		return nil, text.Dataf(src.Name, sizeLine, 1, "%v", err)
	}
	h := &header{array: true, values: 1, dims: dims, nnz: 1, sizeLine: sizeLine, start: start,
		line: lines}
	for _, d := range dims {
		h.nnz *= d
	}
	return open(src, h, opt)
}

// open makes the stream of a file with header h: a *matrix or an *array.
func open(src *text.Source, h *header, opt coo.Options) (coo.Stream, error) {
	typ := opt.Type
	if typ == tensor.None {
		typ = tensor.Float64
		if h.values == 2 {
			typ = tensor.Complex128
		}
	}
	if h.values == 2 && typ != tensor.Complex128 && typ != tensor.Complex64 {
		return nil, text.Commandf(src.Name, h.bannerLine, 1,
			"the file's field is complex, but the type asked for is real")
	}
	shape, err := h.shape(src.Name, opt)
	if err != nil {
		return nil, err
	}
	layout := &text.Layout{File: src.Name, Order: len(h.dims), Values: h.values, Base: 1,
		Lims:    h.dims,
		Comment: '%', Integer: h.integer, Type: typ, Room: 1, Ones: h.ones}
	e := text.Entries{Src: src, Start: h.start, Line: h.line, Comment: '%', Order: len(h.dims),
		Value: typ, Opt: opt,
		Sizes: h.dims, Parse: layout.Parse}
	count := &counter{h: h, file: src.Name}
	if h.array {
		layout.Order, layout.Lims = 0, nil
		e.Order = 0
		e.Sizes = nil
		a := &array{lines: e, h: h, layout: layout, shape: shape, count: count}
		count.lineBefore = a.lines.LineBefore
		a.lines.Check = count.check
		return a, nil
	}
	s := &matrix{Entries: e, keep: shape.keep, count: count}
	count.lineBefore = s.LineBefore
	s.Check = count.check
	if h.sym != general {
		count.judge = func() error { return bothTriangles(e, layout, h, opt) }
		layout.Room = 2
		s.Parse = func(b *text.Block) {
			layout.Parse(b)
			mirror(b, h.sym, layout)
		}
	}
	return s, nil
}

// shape is the shape of the tensor that the stream returns. keep lists the modes of the file that
// become modes of the tensor.
type shape struct {
	keep []int
	dims []int64
}

// shape returns the shape of the tensor that is read from the file, according to opt. If opt gives
// a number of modes, the file must have the same number. There is one exception: a matrix of one
// column or one row can become a vector.
func (h *header) shape(file string, opt coo.Options) (shape, error) {
	s := shape{dims: h.dims}
	for m := range h.dims {
		s.keep = append(s.keep, m)
	}
	want := opt.Order
	if opt.Dims != nil {
		want = len(opt.Dims)
	}
	if want == 1 && len(h.dims) == 2 && h.sym == general {
		switch {
		case h.dims[1] == 1:
			s = shape{keep: []int{0}, dims: h.dims[:1]}
		case h.dims[0] == 1:
			s = shape{keep: []int{1}, dims: h.dims[1:]}
		}
	}
	if want > 0 && want != len(s.dims) {
		return s, text.Commandf(file, h.sizeLine, 1, "the file has %d modes (sizes %s), want %d",
			len(h.dims), text.Sizes(h.dims), want)
	}
	for m, d := range opt.Dims {
		if d >= 0 && d != s.dims[m] {
			return s, text.Commandf(file, h.sizeLine, 1,
				"mode %d has size %d, but -d gives %d", m,
				s.dims[m], d)
		}
	}
	return s, nil
}

// matrix is the stream of a coordinate file.
type matrix struct {
	text.Entries
	keep  []int
	count *counter
	all   coo.Batch
}

// InFile converts a coordinate of the stream to a coordinate of the file.
func (s *matrix) InFile(at []int64) []int64 {
	full := make([]int64, len(s.Sizes))
	for k, m := range s.keep {
		full[m] = at[k]
	}
	return full
}

func (s *matrix) Dims() ([]int64, bool) {
	dims := make([]int64, len(s.keep))
	for k, m := range s.keep {
		dims[k] = s.Sizes[m]
	}
	return dims, true
}

func (s *matrix) Next(b *coo.Batch) error {
	if err := s.Entries.Next(&s.all); err != nil {
		return err
	}
	b.N, b.Vals = s.all.N, s.all.Vals
	b.Coords = b.Coords[:0]
	for _, m := range s.keep {
		b.Coords = append(b.Coords, s.all.Coords[m])
	}
	return nil
}

func (s *matrix) Rewind() error {
	s.count.seen = 0
	return s.Entries.Rewind()
}

// NNZ returns an upper bound of the number of entries, from the header: the announced number,
// or twice that number if the matrix has a symmetry.
func (s *matrix) NNZ() int64 {
	if s.Symmetric() {
		return 2 * min(s.count.h.nnz, math.MaxInt64/2)
	}
	return s.count.h.nnz
}

var _ coo.Progressed = (*matrix)(nil)

// Symmetric reports whether the file stores one triangle of a matrix.
func (s *matrix) Symmetric() bool { return s.count.h.sym != general }

// array is the stream of an array file, which lists values without coordinates, the first mode
// fastest.
type array struct {
	lines  text.Entries
	h      *header
	layout *text.Layout
	shape  shape
	count  *counter
	next   []int64 // the coordinates of the next value; nil before the first
	first  int64   // the number of values before the first value of the part
	cols   [][]int64
	vals   text.Block
}

func (a *array) Dims() ([]int64, bool)         { return slices.Clone(a.shape.dims), true }
func (a *array) Type() tensor.Type             { return a.layout.Type }
func (a *array) Progress() (done, total int64) { return a.lines.Progress() }
func (a *array) Close() error                  { return a.lines.Close() }

// Dense reports whether the tensor should be stored with dense levels. It returns false only if
// dense levels would be too large.
func (a *array) Dense() bool {
	return tensor.CheckSpace(a.shape.dims,
		tensor.Complex128.Size()) == nil
}

func (a *array) Rewind() error {
	a.count.seen, a.next = a.first, nil
	return a.lines.Rewind()
}

// Next returns the entries of the next block, with their mirror images if the matrix has a
// symmetry. It leaves out values whose bits are all zero, except in an array without modes.
func (a *array) Next(b *coo.Batch) error {
	for {
		blk, err := a.lines.NextBlock()
		if err != nil {
			return err
		}
		n, err := a.place(blk)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		b.N, b.Vals = n, a.vals.Vals
		b.Coords = b.Coords[:0]
		for _, m := range a.shape.keep {
			b.Coords = append(b.Coords, a.cols[m][:n])
		}
		return nil
	}
}
