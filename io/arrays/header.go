package arrays

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Header describes an array in a file.
type Header struct {
	Elem    Elem
	Fortran bool // the first dimension changes fastest
	Shape   []int64
	Count   int64 // number of elements; Measure sets it
}

// Elem is the type of elements in a file.
type Elem struct {
	// Kind is the kind of numbers, as in NumPy: b i u f c for bool, signed and unsigned integers,
	// floats and complex numbers. S and U are the bytes and strings of SciPy's format member.
	Kind byte
	Size int  // bytes
	Big  bool // big-endian
}

// types maps the kind letter of a number type to the types of elements, by size in bytes. A float16
// becomes a float32.
var types = map[byte]map[int]tensor.Type{
	'b': {1: tensor.Bool},
	'i': {1: tensor.Int8, 2: tensor.Int16, 4: tensor.Int32, 8: tensor.Int64},
	'u': {1: tensor.Uint8, 2: tensor.Uint16, 4: tensor.Uint32, 8: tensor.Uint64},
	'f': {2: tensor.Float32, 4: tensor.Float32, 8: tensor.Float64},
	'c': {8: tensor.Complex64, 16: tensor.Complex128},
}

// ElemOf returns the type of elements that have the bytes of values of type t on this machine.
func ElemOf(t tensor.Type) Elem {
	for kind, sizes := range types {
		if n := int(t.Size()); sizes[n] == t {
			return Elem{Kind: kind, Size: n}
		}
	}
	panic("BUG: arrays: elements of no type")
}

// Type returns the type that elements are converted to, or tensor.None if they are not numbers.
func (d Elem) Type() tensor.Type { return types[d.Kind][d.Size] }

// widest is the size in bytes of a value of the largest type. The shape of an array is checked as
// if its elements had at least this size, because the elements can be converted to the largest
// type.
var widest = tensor.Complex128.Size()

// Measure computes the number of elements and stores it in h.Count. It returns an error if the
// shape is too large for a tensor. If a size is 0, the array has no elements, so the other sizes do
// not matter.
func (h *Header) Measure() error {
	if len(h.Shape) > tcs.MaxOrder {
		return fmt.Errorf("got an array of %d dimensions, want at most %d", len(h.Shape),
			tcs.MaxOrder)
	}
	if slices.Contains(h.Shape, 0) {
		h.Count = 0
		return nil // each size was checked when it was parsed
	}
	if err := tensor.CheckSpace(h.Shape, max(int64(h.Elem.Size), widest)); err != nil {
		return fmt.Errorf("the header's shape: %v", err)
	}
	h.Count = 1
	for _, d := range h.Shape {
		h.Count *= d
	}
	return nil
}
