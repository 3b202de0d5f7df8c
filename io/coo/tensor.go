package coo

import (
	"io"
	"slices"
	"unsafe"

	"distaff/io/tcs"
)

// Zeros says which zeros of a tensor are entries of its stream.
type Zeros uint8

const (
	// DropFill leaves out zeros where the last level is dense: there they may be but
	// room that a dense level makes. For files. Of a tensor whose levels are all dense,
	// a zero with a minus sign stays: it is no room. Under a level that is not, sums of
	// blocks turn it into one without a sign, at some numbers of ranks and not at
	// others.
	DropFill Zeros = iota
	// KeepAll takes every value for an entry, as statements do: for operands.
	KeepAll
	// KeepPaths is DropFill, but of the places that the last dense levels have
	// under one coordinate above them the last stays where all are zero: the
	// coordinate is stored.
	KeepPaths
)

// ZerosFor says which zeros of t are entries of a tensor of those levels that
// is made of it. Under a coordinate that t stores, its last, dense levels have
// room for every coordinate; where the other tensor has that room too, nothing is lost
// or won by taking all. fit says that its dense levels are to cover no more than
// the entries do.
func ZerosFor(t *tcs.Tensor, kinds string, modes []int, fit bool) Zeros {
	if modes == nil {
		modes = tcs.Identity(len(kinds))
	}
	own, ownModes := t.Format()
	from, to := trailing(own), trailing(kinds)
	if from == 0 || from == len(own) {
		return DropFill // no coordinate is stored above, or no level is dense below
	}
	for _, m := range ownModes[from:] {
		if !slices.Contains(modes[to:], m) {
			return DropFill
		}
	}
	if fit {
		return KeepPaths
	}
	return KeepAll
}

// trailing is the first of the dense levels after all others.
func trailing(kinds string) int {
	n := len(kinds)
	for n > 0 && tcs.KindOf(kinds[n-1]).Form == tcs.Full {
		n--
	}
	return n
}

// FromTensor is the tensor's entries as a stream, in storage order. The tensor
// must be loaded and valid, and outlive the stream; closing the stream leaves
// it open.
func FromTensor(t *tcs.Tensor, zeros Zeros) Stream { return FromTensorBy(t, zeros, BatchSize) }

// FromTensorBy is FromTensor with batches of at most n entries, for many
// streams at once.
func FromTensorBy(t *tcs.Tensor, zeros Zeros, n int) Stream {
	last := len(t.Levels) - 1
	n = int(max(min(int64(n), t.Vals.Len), 1))
	s := &tensorStream{t: t, c: t.Cursor(),
		drop:  zeros != KeepAll && last >= 0 && t.Levels[last].Form() == tcs.Full,
		index: make([]int64, n), zero: allZero}
	if kinds, _ := t.Format(); s.drop && trailing(kinds) > 0 {
		s.zero = zeroOf(t.Header.Type)
		if zeros == KeepPaths {
			s.below = t.Levels[trailing(kinds):]
		}
	}
	return s
}

type tensorStream struct {
	t     *tcs.Tensor
	c     *tcs.Cursor
	drop  bool
	zero  func(v []byte) bool // which values are left out
	below []tcs.Level         // KeepPaths: the dense levels after all others
	kept  bool                // some entry was kept under the coordinate above those
	index []int64
	own   Batch // memory of the batches
	done  int64
}

func (s *tensorStream) Dims() ([]int64, bool) { return s.t.Header.Dims, true }
func (s *tensorStream) Type() tcs.Type        { return s.t.Header.Type }
func (s *tensorStream) Close() error          { return nil }

// Dense, Tensor, Progress: see Densed, Tensored, Progressed.
func (s *tensorStream) Dense() bool                   { return s.t.Dense() }
func (s *tensorStream) Tensor() *tcs.Tensor           { return s.t }
func (s *tensorStream) Progress() (done, total int64) { return s.done, s.t.Bytes() }

// Tensored streams stand for a tensor that is there already.
type Tensored interface{ Tensor() *tcs.Tensor }

func (s *tensorStream) Rewind() error {
	s.c = s.t.Cursor()
	s.done, s.kept = 0, false
	return nil
}

func (s *tensorStream) Next(b *Batch) error {
	size := s.t.Header.Type.Size()
	for {
		s.own.Resize(len(s.t.Header.Dims), len(s.index), size)
		n := 0
		if err := s.t.Guarded(func() error { n = s.c.Next(s.own.Coords, s.index); return nil }); err !=
			nil {
			return err
		}
		if n == 0 {
			s.done = s.t.Bytes()
			return io.EOF
		}
		if s.t.Vals.Len > 0 {
			s.done = int64(float64(s.t.Bytes()) * float64(s.index[n-1]) / float64(s.t.Vals.Len))
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

// copyKept copies the values of the n entries, without dropped zeros, and returns
// how many there are.
func (s *tensorStream) copyKept(vals []byte, size, n int) int {
	w := 0
	for i, at := range s.index[:n] {
		v := vals[at*int64(size):][:size]
		if s.drop && s.zero(v) && !s.stands(i) {
			if s.below != nil && s.ends(i) {
				s.kept = false
			}
			continue
		}
		if s.below != nil {
			s.kept = !s.ends(i)
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

// stands tells whether entry i, a zero, is the one that stands for a coordinate
// under which all are zero.
func (s *tensorStream) stands(i int) bool {
	if s.below == nil || s.kept {
		return false
	}
	return s.ends(i)
}

// ends tells whether entry i is the last under a coordinate above the levels below.
func (s *tensorStream) ends(i int) bool {
	for l := range s.below {
		if m := s.below[l].Mode; s.own.Coords[m][i] != s.t.Header.Range(m)[1]-1 {
			return false
		}
	}
	return true
}

// zeroOf tells whether a value of that type is zero, with any sign.
func zeroOf(typ tcs.Type) func(v []byte) bool {
	switch typ {
	case tcs.Float64, tcs.Complex128:
		return signed[float64]
	case tcs.Float32, tcs.Complex64:
		return signed[float32]
	}
	return allZero
}

func signed[T float32 | float64](v []byte) bool {
	var z T
	for p := 0; p < len(v); p += int(unsafe.Sizeof(z)) {
		if *(*T)(unsafe.Pointer(&v[p])) != 0 {
			return false
		}
	}
	return true
}

func allZero(v []byte) bool {
	switch len(v) {
	case 4:
		return *(*uint32)(unsafe.Pointer(&v[0])) == 0
	case 8:
		return *(*uint64)(unsafe.Pointer(&v[0])) == 0
	default:
		w := *(*[2]uint64)(unsafe.Pointer(&v[0]))
		return w[0]|w[1] == 0
	}
}

// sortLevels: entries that agree in the first k levels wanted come in order if
// the levels after those are the tensor's own, in its order, without them.
func (s *tensorStream) sortLevels(modes []int) int {
	_, own := s.t.Format()
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

// Filled tells whether a stream has every place that a tensor of these kinds and
// modes stores for its entries: it is the stream of such a tensor, zeros and all,
// whose last levels, where they are dense, cover their modes.
func Filled(in Stream, kinds string, modes []int) bool {
	s, ok := in.(*tensorStream)
	if !ok || s.drop {
		return false
	}
	k, m := s.t.Format()
	for _, mode := range m[trailing(k):] {
		if s.t.Header.Range(mode) != [2]int64{0, s.t.Header.Dims[mode]} {
			return false
		}
	}
	return k == kinds && slices.Equal(m, modes)
}

// Repack is the tensor in another format (modes nil: 0, 1, ...), in memory
// counted against cfg.Limit; the caller closes it, and t stays as it is. With
// KeepAll the result means the same as an operand.
func Repack(t *tcs.Tensor, kinds string, modes []int, zeros Zeros, cfg Config) (*tcs.Tensor,
	error) {
	if t.Dense() && tcs.AllDense(kinds) && zeros == KeepAll {
		if out, err := permuted(t, modes, cfg); out != nil || err != nil {
			return out, err
		}
	}
	spec := Spec{Kinds: kinds, Modes: modes, Box: t.Header.Box, Splits: t.Header.Splits}
	if t.Header.Whole() {
		spec.Box = nil
	}
	return Assemble(FromTensor(t, zeros), spec, cfg)
}
