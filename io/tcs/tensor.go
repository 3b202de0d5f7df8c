package tcs

import (
	"distaff/io/tensor"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Array is an array of Len elements of Width bytes each. Ptr is the address of its first element.
// First is the position of this element in the whole tensor. First is 0 unless the array belongs to
// a view. Tensor.Holds says who owns the memory.
type Array struct {
	Ptr   unsafe.Pointer
	Len   int64
	First int64
	Width uint8
}

// Level is one storage level of a tensor. A dense level has the coordinates [Offset, Offset+Size).
// For the other kinds, Size is the size of the mode and Offset is 0.
type Level struct {
	Kind         tensor.Kind
	Mode         int
	Size, Offset int64
	Pos, Crd     Array
}

// Form returns the rule that numbers the positions of the level.
func (l *Level) Form() tensor.Form { return l.Kind.Form() }

// Split says, for one mode, which block of a split tensor a block is (SuperTaco section 4.3). The
// mode is divided into Count blocks, and this is the block with number Index. The range of the
// block in the mode is in the header's Box.
type Split struct{ Index, Count int64 }

// Header describes a tensor, or a block of a tensor. Dims are the sizes of the whole tensor's
// modes. Box is the half-open range that the block covers in each mode. If Box is nil, the block
// covers every mode completely. Splits[m] says which of the blocks in mode m the block is. If
// Splits is nil, the tensor is not split into blocks.
type Header struct {
	Dims   []int64
	Box    [][2]int64
	Splits []Split
	Type   tensor.Type
}

// Tensor is a header and its level arrays. A tensor of order 0 has no levels and one value.
// Once a tensor is shared, its arrays must not be written.
type Tensor struct {
	Header Header
	Levels []Level
	Vals   Array

	held  []*Memory
	part  bool // the tensor is a view; its arrays may hold more than its box
	edges bool // the view was cut by positions; pos may reach past crd at both ends

	source Source // the file; nil unless the tensor was opened from one
	demand Demand // reads elements of the arrays; nil if they are in memory, and in views

	validated atomic.Bool             // the arrays were checked, or are trusted
	passed    atomic.Pointer[[]Level] // the levels when they were checked or trusted, or nil
}

// Order returns the number of modes.
func (t *Tensor) Order() int { return len(t.Header.Dims) }

// Format returns the kinds of the levels and the mode that each level stores.
func (t *Tensor) Format() tensor.Format {
	f := tensor.Format{Levels: make([]tensor.Kind, len(t.Levels)), Order: make([]int, len(t.Levels))}
	for l, lev := range t.Levels {
		f.Levels[l], f.Order[l] = lev.Kind, lev.Mode
	}
	return f
}

// Dense reports whether every level is dense. A dense tensor has a value for every coordinate
// of its box. Scalars are dense.
func (t *Tensor) Dense() bool {
	for _, l := range t.Levels {
		if l.Form() != tensor.Full {
			return false
		}
	}
	return true
}

// Range returns the half-open range of mode m that the tensor covers.
func (h *Header) Range(m int) [2]int64 {
	if h.Box == nil {
		return [2]int64{0, h.Dims[m]}
	}
	return h.Box[m]
}

// Whole reports whether the box covers the whole tensor.
func (h *Header) Whole() bool {
	for m := range h.Dims {
		if h.Range(m) != [2]int64{0, h.Dims[m]} {
			return false
		}
	}
	return true
}

// Clone returns a deep copy of the header.
func (h *Header) Clone() Header {
	return Header{Dims: slices.Clone(h.Dims), Box: slices.Clone(h.Box),
		Splits: slices.Clone(h.Splits), Type: h.Type}
}

// Positions returns the number of positions of level l. It returns 1 if l is -1. For a level with a
// crd array, the result is the length of the crd array, also in a view. For a dense level, the
// result is the Size of the level times the number of positions of the level above.
func (t *Tensor) Positions(l int) int64 {
	p := int64(1)
	for i := 0; i <= l; i++ {
		switch t.Levels[i].Form() {
		case tensor.Full:
			p *= t.Levels[i].Size
		case tensor.Segmented, tensor.Single:
			p = t.Levels[i].Crd.Len
		}
	}
	return p
}

// LongestSegment returns the number of positions of the longest segment of the last level. It
// returns 0 if the level has no array of positions.
func (t *Tensor) LongestSegment() (most int64) {
	if len(t.Levels) == 0 {
		return 0
	}
	switch pos := t.Levels[len(t.Levels)-1].Pos; pos.Width {
	case 4:
		return int64(longestStep(Slice[int32](pos)))
	case 8:
		return longestStep(Slice[int64](pos))
	}
	return 0
}

// longestStep returns the largest difference of neighbours in a list that does not decrease.
func longestStep[T int32 | int64](list []T) (most T) {
	for k := 1; k < len(list); k++ {
		most = max(most, list[k]-list[k-1])
	}
	return most
}

// Bytes returns the size of all arrays in bytes.
func (t *Tensor) Bytes() int64 {
	n := t.Vals.Len * int64(t.Vals.Width)
	for _, l := range t.Levels {
		n += l.Pos.Len*int64(l.Pos.Width) + l.Crd.Len*int64(l.Crd.Width)
	}
	return n
}

// Hold keeps m until the tensor is closed. The tensor adds its own reference to m. A nil m is
// ignored.
func (t *Tensor) Hold(m *Memory) {
	if m != nil {
		m.Retain()
		t.held = append(t.held, m)
	}
}

// Own makes the tensor hold m until it is closed. The tensor takes over the caller's reference.
func (t *Tensor) Own(m *Memory) { t.held = append(t.held, m) }

// Share makes t hold all memory that o holds, so that t may use arrays of o.
func (t *Tensor) Share(o *Tensor) {
	for _, m := range o.held {
		t.Hold(m)
	}
}

// ShareArray lets t use an array of o that starts at address a. Tensor t then also holds the memory
// that contains the array, so that the memory is not freed before t is closed. A result with the
// pattern of its operand shares the operand's level arrays in this way.
func (t *Tensor) ShareArray(o *Tensor, a unsafe.Pointer) {
	if a == nil {
		return
	}
	for _, m := range o.held {
		if off := uintptr(a) - uintptr(m.Ptr); off < uintptr(max(m.Bytes, 1)) {
			if !slices.Contains(t.held, m) {
				t.Hold(m)
			}
			return
		}
	}
	t.Share(o) // an empty array may start at the end of its memory
}

// Holds reports whether the tensor holds a reference to the memory of a, one of its arrays. If it
// does not, the memory belongs to the program that made the tensor, and may be in the Go heap.
func (t *Tensor) Holds(a Array) bool {
	return slices.ContainsFunc(t.held, func(m *Memory) bool {
		off := uintptr(a.Ptr) - uintptr(m.Ptr)
		return off < uintptr(max(m.Bytes, 1))
	})
}

// CloseAll closes every tensor of a map, for example the blocks of a rank.
func CloseAll[K comparable](blocks map[K]*Tensor) {
	for _, t := range blocks {
		t.Close()
	}
}

// CloseList closes the tensors of a list. Elements may be nil.
func CloseList(list ...*Tensor) {
	for _, t := range list {
		if t != nil {
			t.Close()
		}
	}
}

// Close releases the tensor's memory. The memory is freed when nothing else holds it. The arrays
// must not be used after Close. A second Close does nothing.
func (t *Tensor) Close() error {
	var first error
	for _, m := range t.held {
		if err := m.Release(); err != nil && first == nil {
			first = err
		}
	}
	t.held = nil
	for l := range t.Levels {
		t.Levels[l].Pos.Ptr, t.Levels[l].Crd.Ptr = nil, nil
	}
	t.Vals.Ptr = nil
	t.passed.Store(nil) // its pointers to the released memory must not stay
	return first
}
