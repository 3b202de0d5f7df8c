package coo

import (
	"io"
	"slices"
	"sync/atomic"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Zeros selects which zeros of a tensor are entries of its stream.
type Zeros uint8

const (
	// DropFill leaves out zeros if the last level is dense, because a dense level stores zeros only
	// to fill its range. Writers of files use it. If all levels of the tensor are dense, a zero
	// with a minus sign stays, because it was computed. Below a level that is not dense, -0 is left
	// out as well: sums of blocks turn -0 into +0 for some numbers of ranks, and the result must
	// not depend on that number.
	DropFill Zeros = iota
	// KeepAll yields every stored value, as statements do for their operands.
	KeepAll
	// KeepPaths is like DropFill, with one exception. If all values under one stored coordinate are
	// zero, the last of them stays, so that the coordinate is stored.
	KeepPaths
)

// ZerosFor says which zeros in the trailing dense levels of t become entries of a new tensor with
// format f. It returns DropFill if t has only dense levels or no trailing dense levels, or if a
// mode of t's trailing dense levels is not in a trailing dense level of f. Otherwise it returns
// KeepAll if fit is false, and KeepPaths if fit is true. fit says that dense levels of the new
// tensor will cover only the range of the entries.
func ZerosFor(t *tcs.Tensor, f tensor.Format, fit bool) Zeros {
	own, f := t.Format(), f.Ordered()
	from, to := firstTrailingDense(own), firstTrailingDense(f)
	if from == 0 || from == len(own.Levels) {
		return DropFill // no level above stores coordinates, or no level below is dense
	}
	for _, m := range own.Order[from:] {
		if !slices.Contains(f.Order[to:], m) {
			return DropFill
		}
	}
	if fit {
		return KeepPaths
	}
	return KeepAll
}

// firstTrailingDense returns the first of the dense levels at the end, or the number of levels if
// there are none.
func firstTrailingDense(f tensor.Format) int { return len(f.Levels) - f.TrailingDense() }

// FromTensor returns a stream of the tensor's entries in storage order. The tensor must be loaded
// and valid, and must stay open longer than the stream. Closing the stream does not close the
// tensor.
func FromTensor(t *tcs.Tensor, zeros Zeros) Stream { return FromTensorBy(t, zeros, BatchSize) }

// FromTensorBy is like FromTensor, with batches of at most n entries, or of 1 if n is 0. Small
// batches save memory if many streams are open.
func FromTensorBy(t *tcs.Tensor, zeros Zeros, n int) Stream {
	last := len(t.Levels) - 1
	n = int(max(min(int64(n), t.Vals.Len), 1))
	s := &tensorStream{t: t, c: t.Cursor(),
		drop:  zeros != KeepAll && last >= 0 && t.Levels[last].Form() == tensor.Full,
		index: make([]int64, n), zero: isZeroBits}
	if from := firstTrailingDense(t.Format()); s.drop && from > 0 {
		s.zero = zeroOf(t.Header.Type)
		if zeros == KeepPaths {
			s.below = t.Levels[from:]
		}
	}
	return s
}

type tensorStream struct {
	t     *tcs.Tensor
	c     *tcs.Cursor
	drop  bool
	zero  func(v []byte) bool // reports which values are left out
	below []tcs.Level         // KeepPaths: the dense levels at the end; otherwise nil
	kept  bool                // an entry was kept under the current coordinate of the levels above
	index []int64
	own   Batch // memory of the batches
	done  atomic.Int64
}

func (s *tensorStream) Dims() ([]int64, bool) { return s.t.Header.Dims, true }
func (s *tensorStream) Type() tensor.Type     { return s.t.Header.Type }
func (s *tensorStream) Close() error          { return nil }

// Dense, Tensor and Progress implement DenseReporter, TensorStream and Progressed.
func (s *tensorStream) Dense() bool                   { return s.t.Dense() }
func (s *tensorStream) Tensor() *tcs.Tensor           { return s.t }
func (s *tensorStream) Progress() (done, total int64) { return s.done.Load(), s.t.Bytes() }

// TensorStream is a stream that reads an existing tensor.
type TensorStream interface{ Tensor() *tcs.Tensor }

func (s *tensorStream) Rewind() error {
	s.c = s.t.Cursor()
	s.done.Store(0)
	s.kept = false
	return nil
}

func (s *tensorStream) Next(b *Batch) error {
	size := int(s.t.Header.Type.Size())
	for {
		s.own.Resize(len(s.t.Header.Dims), len(s.index), size)
		n := 0
		if err := s.t.Guarded(func() error { n = s.c.Next(s.own.Coords, s.index); return nil }); err !=
			nil {
			return err
		}
		if n == 0 {
			s.done.Store(s.t.Bytes())
			return io.EOF
		}
		if s.t.Vals.Len > 0 {
			read := float64(s.index[n-1]) / float64(s.t.Vals.Len)
			s.done.Store(int64(float64(s.t.Bytes()) * read))
		}
		vals := s.t.Vals.Bytes()
		if lo, hi := s.index[0], s.index[n-1]; hi-lo == int64(n-1) && !s.drop {
			b.Vals = vals[lo*int64(size) : (hi+1)*int64(size)]
		} else {
			n = s.copyKept(vals, size, n)
			if n == 0 {
				continue
			}
			b.Vals = s.own.Vals[:n*size]
		}
		b.Coords, b.N = s.own.Coords, n
		for m := range b.Coords {
			b.Coords[m] = b.Coords[m][:n]
		}
		return nil
	}
}

// copyKept copies the values of n entries to s.own, except zeros that are dropped, and returns how
// many it copied.
func (s *tensorStream) copyKept(vals []byte, size, n int) int {
	w := 0
	for i, at := range s.index[:n] {
		v := vals[at*int64(size):][:size]
		if s.drop && s.zero(v) && !s.isPathEntry(i) {
			if s.below != nil && s.isLastUnder(i) {
				s.kept = false
			}
			continue
		}
		if s.below != nil {
			s.kept = !s.isLastUnder(i)
		}
		copy(s.own.Vals[w*size:], v)
		if w != i {
			for _, col := range s.own.Coords {
				col[w] = col[i]
			}
		}
		w++
	}
	return w
}

// isPathEntry reports whether the stream must keep entry i, although the entry's value is zero. The
// entry's path is its coordinates in the levels above s.below, the trailing dense levels. If the
// stream has kept no other entry of a path, it must keep the last one, because it would lose the
// path otherwise. If s.below is nil, isPathEntry returns false.
func (s *tensorStream) isPathEntry(i int) bool {
	if s.below == nil || s.kept {
		return false
	}
	return s.isLastUnder(i)
}

// isLastUnder reports whether entry i is the last entry with its coordinates in the levels above
// s.below. s.below has the trailing dense levels. Entry i is the last one if its coordinate in each
// of these levels is the largest one of the level.
func (s *tensorStream) isLastUnder(i int) bool {
	for l := range s.below {
		if m := s.below[l].Mode; s.own.Coords[m][i] != s.t.Header.Range(m)[1]-1 {
			return false
		}
	}
	return true
}

// zeroOf returns a function that reports whether a value of type typ is zero with either sign.
func zeroOf(typ tensor.Type) func(v []byte) bool {
	switch typ {
	case tensor.Float64, tensor.Complex128:
		return isSignedZero[float64]
	case tensor.Float32, tensor.Complex64:
		return isSignedZero[float32]
	}
	return isZeroBits
}

func isSignedZero[T float32 | float64](v []byte) bool {
	var z T
	for p := 0; p < len(v); p += int(unsafe.Sizeof(z)) {
		if *(*T)(unsafe.Pointer(&v[p])) != 0 {
			return false
		}
	}
	return true
}

func isZeroBits(v []byte) bool {
	switch len(v) {
	case 1:
		return v[0] == 0
	case 2:
		return *(*uint16)(unsafe.Pointer(&v[0])) == 0
	case 4:
		return *(*uint32)(unsafe.Pointer(&v[0])) == 0
	case 8:
		return *(*uint64)(unsafe.Pointer(&v[0])) == 0
	default:
		w := *(*[2]uint64)(unsafe.Pointer(&v[0]))
		return w[0]|w[1] == 0
	}
}

// sortLevels implements orderedStream. modes is the wanted mode order. The result is the smallest k
// for which a stable sort by the first k of these modes gives the wanted order. So the tensor must
// store the other modes in the wanted order already.
func (s *tensorStream) sortLevels(modes []int) int {
	own := s.t.Format().Order
	for k := range modes {
		var rest []int
		for _, m := range own {
			if !slices.Contains(modes[:k], m) {
				rest = append(rest, m)
			}
		}
		if slices.Equal(rest, modes[k:]) {
			return k
		}
	}
	return 0
}

// Filled reports whether the stream is known to yield an entry for every value, except padding,
// that a tensor of format f would store if it were made from the stream. This is true if the stream
// reads a tensor of the same format including its zeros, and if the tensor's trailing dense levels
// cover their modes completely.
func Filled(in Stream, f tensor.Format) bool {
	s, ok := in.(*tensorStream)
	if !ok || s.drop {
		return false
	}
	own := s.t.Format()
	for _, mode := range own.Order[firstTrailingDense(own):] {
		if s.t.Header.Range(mode) != [2]int64{0, s.t.Header.Dims[mode]} {
			return false
		}
	}
	return own.Equal(f.Ordered())
}

// Repack returns a copy of the tensor in format f. If f has no Order, the copy stores the modes in
// the order 0, 1, .... The parameter zeros says which stored zeros become entries of the copy. With
// KeepAll, all of them do. The memory is counted against cfg.Limit, and the caller closes the copy.
// t is not changed.
func Repack(t *tcs.Tensor, f tensor.Format, zeros Zeros, cfg Config) (*tcs.Tensor, error) {
	if t.Dense() && f.AllDense() && zeros == KeepAll {
		if out, err := permuted(t, f.Order, cfg); out != nil || err != nil {
			return out, err
		}
	}
	spec := Spec{Format: f, Box: t.Header.Box, Splits: t.Header.Splits}
	if t.Header.Whole() {
		spec.Box = nil
	}
	return Assemble(FromTensor(t, zeros), spec, cfg)
}
