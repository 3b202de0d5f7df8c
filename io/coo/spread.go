package coo

import (
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Spread stores entries straight into a dense block, in any order.
type Spread struct {
	t        *tcs.Tensor
	how      Placing
	size     int
	at       []int64
	taken    *tcs.Memory // Once: one bit for each position, set if it has an entry
	repeated bool
}

// Placing selects what happens to the values that a dense block already has when entries are
// stored.
type Placing uint8

const (
	// Set replaces the zeros that the block has at first. No coordinate may repeat.
	Set Placing = iota
	// Add adds values to the values in the block. Coordinates may repeat only if the entries come
	// in the order of the input, because the order of a sum decides its bits.
	Add
	// Once is like Add, and also detects repeated coordinates. This costs one bit of memory for
	// each position.
	Once
)

// NewSpread allocates the block of spec.Box, or of the whole tensor if that is nil, filled with
// zeros.
func NewSpread(spec Spec, cfg Config, how Placing) (*Spread, error) {
	t,
		err := tcs.New(&tcs.Shape{
		Header: tcs.Header{Dims: spec.Dims, Box: spec.Box, Splits: spec.Splits, Type: spec.Type},
		Format: spec.Format, Wide: spec.Wide}, cfg.Limit, spec.Name)
	if err != nil {
		return nil, err
	}
	s := &Spread{t: t, how: how, size: int(spec.Type.Size())}
	if how == Once {
		if s.taken, err = tcs.Alloc(cfg.Limit, t.Vals.Len/64*8+8, spec.Name); err != nil {
			t.Close()
			return nil, err
		}
	}
	return s, nil
}

// Add stores n entries, given as a column of coordinates per level. They must be inside the block's
// box. If Repeated then returns true, the block must not be used.
func (s *Spread) Add(cols [][]int64, vals []byte, n int) error {
	if n == 0 || s.repeated {
		return nil
	}
	s.at = append(s.at[:0], make([]int64, n)...)
	for l, col := range cols {
		lev := &s.t.Levels[l]
		for i, x := range col[:n] {
			if x -= lev.Offset; uint64(x) >= uint64(lev.Size) {
				panic("BUG: coo: an entry outside its block")
			}
			s.at[i] = s.at[i]*lev.Size + x
		}
	}
	switch s.how {
	case Set:
		to := s.t.Vals.Bytes()
		for i, p := range s.at {
			copy(to[p*int64(s.size):][:s.size], vals[i*s.size:])
		}
		return nil
	case Once:
		taken := s.taken.Slice()
		for _, p := range s.at {
			bit := byte(1) << (p & 7)
			s.repeated = s.repeated || taken[p>>3]&bit != 0
			taken[p>>3] |= bit
		}
	}
	addAll(s.t, s.at, vals[:n*s.size])
	return nil
}

// Repeated reports whether two of the added entries had the same coordinates. It may be called only
// if the Spread was made with the option Once.
func (s *Spread) Repeated() bool { return s.repeated }

// Finish returns the block, which the caller closes.
func (s *Spread) Finish() (*tcs.Tensor, error) {
	s.release()
	s.t.Trust()
	return s.t, nil
}

// Close releases the memory of a block that was not finished.
func (s *Spread) Close() {
	s.release()
	s.t.Close()
}

func (s *Spread) release() {
	if s.taken != nil {
		s.taken.Release()
		s.taken = nil
	}
}

// addAll adds vals[k] to the value of t at position at[k], for each k. If the value of t is zero,
// it is replaced by vals[k] instead, because adding -0 to +0 would give +0.
func addAll(t *tcs.Tensor, at []int64, vals []byte) {
	switch p := unsafe.Pointer(&vals[0]); t.Header.Type {
	case tensor.Float64:
		addEach(tcs.Values[float64](t), at, (*float64)(p))
	case tensor.Float32:
		addEach(tcs.Values[float32](t), at, (*float32)(p))
	case tensor.Int64:
		addEach(tcs.Values[int64](t), at, (*int64)(p))
	case tensor.Int32:
		addEach(tcs.Values[int32](t), at, (*int32)(p))
	case tensor.Bool:
		addEach(tcs.Values[tensor.Truth](t), at, (*tensor.Truth)(p))
	case tensor.Int8:
		addEach(tcs.Values[int8](t), at, (*int8)(p))
	case tensor.Int16:
		addEach(tcs.Values[int16](t), at, (*int16)(p))
	case tensor.Uint8:
		addEach(tcs.Values[uint8](t), at, (*uint8)(p))
	case tensor.Uint16:
		addEach(tcs.Values[uint16](t), at, (*uint16)(p))
	case tensor.Uint32:
		addEach(tcs.Values[uint32](t), at, (*uint32)(p))
	case tensor.Uint64:
		addEach(tcs.Values[uint64](t), at, (*uint64)(p))
	case tensor.Complex128:
		addEach(tcs.Values[complex128](t), at, (*complex128)(p))
	case tensor.Complex64:
		addEach(tcs.Values[complex64](t), at, (*complex64)(p))
	}
}

func addEach[T tensor.Element](dst []T, at []int64,
	vals *T) {
	logic := tensor.TypeOf[T]() == tensor.Bool
	for i, v := range unsafe.Slice(vals, len(at)) {
		if p := &dst[at[i]]; *p == 0 {
			*p = v
		} else if *p += v; logic {
			*p = 1
		}
	}
}
