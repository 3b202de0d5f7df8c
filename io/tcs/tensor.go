// Package tcs is the tensor: a header and level arrays, in memory as in the
// .tcs file, so that a file is mapped, not read. docs/tcs.md has the format.
package tcs

import "unsafe"

// Type is the type of a tensor's values.
type Type uint8

const (
	Invalid Type = iota
	Float64
	Float32
	Int64
	Int32
	Complex128
	Complex64
)

// Array is len elements of Width bytes each at Ptr. First is the position in
// the whole tensor of the element at Ptr (0 unless the tensor is a block).
// The memory is owned by the Tensor that holds the Array.
type Array struct {
	Ptr   unsafe.Pointer
	Len   int64
	First int64
	Width uint8
}

// Level is one storage level, outermost first. Kind is the level kind's letter
// (d s u q c p). A dense level holds coordinates [Offset, Offset+Size).
type Level struct {
	Kind         byte
	Mode         int
	Size, Offset int64
	Pos, Crd     Array
}

// Split is a mode's place in a split tensor (SuperTaco section 4.3): block
// Index of Count, covering the header's Box in that mode.
type Split struct{ Index, Count int64 }

// Header describes a tensor or a block of one. Dims has the sizes of the whole
// tensor's modes; Box the half-open range of each mode that this block covers.
type Header struct {
	Dims   []int64
	Box    [][2]int64
	Splits []Split
	Type   Type
}

// Tensor is a header over level arrays. An order-0 tensor has no levels and one value.
type Tensor struct {
	Header
	Levels []Level
	Vals   Array

	release func() error // frees or unmaps the arrays; nil for none
}
