package hb

import (
	"io"
	"math"
	"strconv"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// batchSize is the largest number of stored entries in a batch, without mirror images.
const batchSize = 4096

// stream returns the entries that the file stores, column by column. If the matrix has a symmetry,
// the mirror image of an entry follows the entry.
type stream struct {
	src *text.Source
	h   *header
	typ tensor.Type

	ptr, ind, val *cards
	col           int64 // the current column, from 1
	end           int64 // the number of stored entries up to the end of the column
	at            int64 // the number of stored entries that were read
	cols          [2][]int64
	words         []uint64
	vals          []byte
	num           []byte
	err           error

	opt            coo.Options
	sides          [2]bool // whether entries below and above the diagonal were read
	mirrorsChecked bool    // the file was searched for mirror images
}

// Open reads path as a stream of entries in the file's order, with exact sizes. The stream owns the
// file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, New) }

// New returns a stream of the entries of src. The stream owns src.
func New(src *text.Source, opt coo.Options) (coo.Stream, error) {
	h, err := readHeader(src)
	if err != nil {
		return nil, err
	}
	s := &stream{src: src, h: h, typ: opt.Type, opt: opt}
	if s.typ == tensor.None {
		s.typ = tensor.Float64
		if h.kind == 'c' {
			s.typ = tensor.Complex128
		}
	}
	if h.kind == 'c' && s.typ != tensor.Complex128 && s.typ != tensor.Complex64 {
		return nil, text.Commandf(src.Name, h.dimLine, 1,
			"the file's values are complex, but the type asked for is real")
	}
	if opt.Order != 0 && opt.Order != 2 || opt.Dims != nil && len(opt.Dims) != 2 {
		return nil, text.Commandf(src.Name, h.dimLine, 1,
			"the file has 2 modes (sizes %dx%d), want %d", h.rows, h.cols,
			max(opt.Order, len(opt.Dims)))
	}
	for m, d := range opt.Dims {
		if have := []int64{h.rows, h.cols}[m]; d >= 0 && d != have {
			return nil, text.Commandf(src.Name, h.dimLine, 1,
				"mode %d has size %d, but -d gives %d", m,
				have, d)
		}
	}
	s.reserve()
	return s, nil
}

func (s *stream) reserve() {
	capacity := batchSize
	if s.h.triangle() {
		capacity *= 2
	}
	s.cols[0], s.cols[1] = make([]int64, capacity), make([]int64, capacity)
	s.words = make([]uint64, 2*capacity)
	s.vals = unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), 16*capacity)
}

func (s *stream) Dims() ([]int64, bool)         { return []int64{s.h.rows, s.h.cols}, true }
func (s *stream) Type() tensor.Type             { return s.typ }
func (s *stream) Progress() (done, total int64) { return s.src.Progress() }

// NNZ returns an upper bound of the number of entries, from the header: the announced number,
// or twice that number if the matrix has a symmetry.
func (s *stream) NNZ() int64 {
	if s.h.triangle() {
		return 2 * min(s.h.nnz, math.MaxInt64/2)
	}
	return s.h.nnz
}

func (s *stream) Rewind() error {
	s.stop()
	s.err = nil
	return nil
}

func (s *stream) Close() error {
	s.stop()
	s.err = io.ErrClosedPipe
	return s.src.Close()
}

// last returns the reader of the last section that is read: the values, or the indices if the file
// has no values.
func (s *stream) last() *cards {
	if s.val != nil {
		return s.val
	}
	return s.ind
}

func (s *stream) stop() {
	s.ptr.close()
	s.ind.close()
	s.val.close()
	s.ptr, s.ind, s.val = nil, nil, nil
}

// start opens the sections and reads the first column pointer.
func (s *stream) start() (err error) {
	h := s.h
	ptrLines := lines(h.cols+1, h.ptr)
	indLines := lines(h.nnz, h.ind)
	if s.ptr, err = open(s.src, h.ptr, int64(h.line)); err != nil {
		return err
	}
	if s.ind, err = open(s.src, h.ind, int64(h.line)+ptrLines); err != nil {
		return err
	}
	if h.kind != 'p' {
		if s.val, err = open(s.src, h.val, int64(h.line)+ptrLines+indLines); err != nil {
			return err
		}
	}
	s.col, s.at, s.end = 0, 0, 0
	_, err = s.ptr.integer("the first column pointer", 1, 1)
	return err
}

// Next stores the next entries of the file in b. It also stores the mirror images that a symmetry
// of the matrix implies. It reads at most batchSize stored entries.
func (s *stream) Next(b *coo.Batch) error {
	if s.err == nil {
		s.err = s.fill(b, s.entry)
		if s.err == io.EOF && s.sides == [2]bool{true, true} && !s.mirrorsChecked {
			if err := s.bothTriangles(); err != nil {
				s.err = err
				return err
			}
			s.mirrorsChecked = true
		}
	}
	return s.err
}

// fill reads batchSize stored entries into b, or fewer at the end of the file. It calls entry for
// each of them: entry(n) reads the next stored entry into the elements of b from number n on, and
// returns the number of elements that it filled, which may be 0. If b is still empty, fill reads
// on. At the end of the file it returns the result of finish.
func (s *stream) fill(b *coo.Batch, entry func(n int) (int, error)) error {
	if s.ptr == nil {
		if err := s.start(); err != nil {
			return err
		}
	}
	n := 0
	for n == 0 { // entry may use no element
		for range batchSize {
			if more, err := s.column(); err != nil {
				return err
			} else if !more {
				break
			}
			k, err := entry(n)
			if err != nil {
				return err
			}
			n += k
			s.at++
		}
		if n == 0 && s.at == s.end && s.col == s.h.cols {
			return s.finish()
		}
	}
	b.N, b.Vals = n, s.vals[:n*int(s.typ.Size())]
	b.Coords = append(b.Coords[:0], s.cols[0][:n], s.cols[1][:n])
	return nil
}

// column advances to the column of the next stored entry. It returns false at the end.
func (s *stream) column() (more bool, err error) {
	for s.at == s.end && s.col < s.h.cols {
		p, err := s.ptr.integer("a column pointer", s.end+1, s.h.nnz+1)
		if err != nil {
			return false, err
		}
		s.col++
		s.end = p - 1
	}
	return s.at < s.end, nil
}

// finish checks the end of the file. It returns io.EOF if the file is correct.
func (s *stream) finish() error {
	if s.at != s.h.nnz {
		return text.Dataf(s.src.Name, s.ptr.no, 1,
			"got %d as the last column pointer, want %d: one more than the number of entries",
			s.end+1, s.h.nnz+1)
	}
	// Read to the end, for a compressed file's checksum.
	if _, err := io.Copy(io.Discard, s.last().r); err != nil {
		return err
	}
	s.stop()
	return io.EOF
}

// entry reads the next stored entry into element n of the batch, and its mirror image, if it has
// one, into element n+1. It returns the number of elements.
func (s *stream) entry(n int) (int, error) {
	row, err := s.ind.integer("a row index", 1, s.h.rows)
	if err != nil {
		return 0, err
	}
	i, j := row-1, s.col-1
	s.cols[0][n], s.cols[1][n] = i, j
	switch s.h.kind {
	case 'p':
		text.PutOne(s.vals, s.typ, n)
	case 'c':
		if err := s.value(n, 0); err != nil {
			return 0, err
		}
		if err := s.value(n, 1); err != nil {
			return 0, err
		}
	default:
		if err := s.value(n, 0); err != nil {
			return 0, err
		}
	}
	if !s.h.triangle() {
		return 1, nil
	}
	if i == j {
		return 1, s.diagonal(n)
	}
	s.noteSide(i, j)
	s.cols[0][n+1], s.cols[1][n+1] = j, i
	return 2, s.reflect(n)
}

// value reads part k of value n: 0 is the real part, 1 the imaginary part.
func (s *stream) value(n, k int) error {
	tok, col, f, err := s.val.number("a value")
	if err != nil {
		return err
	}
	s.num = decimal(s.num[:0], tok, f)
	end := len(s.num)
	s.num = append(s.num, "\n       "...)
	if err := text.StoreNumber(s.vals, s.typ, s.h.kind == 'i', n, k, s.num, 0, end); err != nil {
		return text.NumberError(s.src.Name, s.val.no, col, tok, s.typ, s.h.kind == 'i', err)
	}
	return nil
}

// decimal translates the number tok from Fortran's syntax to Go's and appends it to b. f is the
// format of the number's field.
func decimal(b, tok []byte, f field) []byte {
	exponent := false
	for k, c := range tok {
		switch c {
		case 'D', 'd', 'E', 'Q', 'q':
			c = 'e'
		case '+', '-':
			if k > 0 && !exponent && (tok[k-1] >= '0' && tok[k-1] <= '9' || tok[k-1] == '.') {
				b = append(b, 'e')
				exponent = true
			}
		}
		exponent = exponent || c == 'e'
		b = append(b, c)
	}
	if f.kind == 'F' && f.scale != 0 && !exponent {
		b = append(b, 'e')
		b = strconv.AppendInt(b, int64(-f.scale), 10)
	}
	return b
}
