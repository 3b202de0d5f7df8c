package tcs

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Array is Len elements of Width bytes each at Ptr. First is the position in
// the whole tensor of the element at Ptr (0 unless the tensor is a block).
// The memory is owned by the Tensor that holds the Array.
type Array struct {
	Ptr   unsafe.Pointer
	Len   int64
	First int64
	Width uint8
}

// Level is one storage level, outermost first. Kind is the level kind's letter
// (d s u q c p). A dense level holds coordinates [Offset, Offset+Size); for the
// other kinds Size is the size of the mode and Offset 0.
type Level struct {
	Kind         byte
	Mode         int
	Size, Offset int64
	Pos, Crd     Array
}

// Form is how the level's positions count.
func (l *Level) Form() Form { return KindOf(l.Kind).Form }

// Split is a mode's place in a split tensor (SuperTaco section 4.3): block
// Index of Count, covering the header's Box in that mode.
type Split struct{ Index, Count int64 }

// Header describes a tensor or a block of one. Dims has the sizes of the whole
// tensor's modes; Box the half-open range of each mode that this block covers
// (nil: all of it); Splits its place in a split (nil: unsplit).
type Header struct {
	Dims   []int64
	Box    [][2]int64
	Splits []Split
	Type   Type
}

// Tensor is a header over level arrays. An order-0 tensor has no levels and
// one value. Its arrays are for reading once it is shared.
type Tensor struct {
	Header
	Levels []Level
	Vals   Array

	held  []*Memory
	file  *source // nil unless opened from a file
	part  bool    // a view: its arrays may hold more than its box
	edges bool    // a view by positions: the segments at its ends may be cut

	lazy *lazy // of a compressed file of which only parts are decompressed; nil in its views

	validated atomic.Bool             // the arrays passed, or are trusted
	passed    atomic.Pointer[[]Level] // which arrays those are; nil for a view's
}

// Order is the number of modes.
func (t *Tensor) Order() int { return len(t.Dims) }

// Format is the tensor's level kinds and, a level, the mode that it stores.
func (t *Tensor) Format() (kinds string, order []int) {
	b := make([]byte, len(t.Levels))
	order = make([]int, len(t.Levels))
	for l, lev := range t.Levels {
		b[l], order[l] = lev.Kind, lev.Mode
	}
	return string(b), order
}

// FormatString is the format as -f takes it: "ds", "ds:1,0".
func (t *Tensor) FormatString() string {
	kinds, order := t.Format()
	return FormatString(kinds, order)
}

// FormatString is the format of the level kinds and mode order as -f takes it.
func FormatString(kinds string, order []int) string {
	identity := true
	s := make([]string, len(order))
	for l, m := range order {
		identity = identity && l == m
		s[l] = fmt.Sprint(m)
	}
	if identity {
		return kinds
	}
	return kinds + ":" + strings.Join(s, ",")
}

// Dense reports whether every level is dense, so that every coordinate of the
// box has a value. Scalars are dense.
func (t *Tensor) Dense() bool {
	for _, l := range t.Levels {
		if l.Form() != Full {
			return false
		}
	}
	return true
}

// Range is the half-open range of mode m that the tensor covers.
func (h *Header) Range(m int) [2]int64 {
	if h.Box == nil {
		return [2]int64{0, h.Dims[m]}
	}
	return h.Box[m]
}

// Whole reports whether the box is the whole tensor.
func (h *Header) Whole() bool {
	for m := range h.Dims {
		if h.Range(m) != [2]int64{0, h.Dims[m]} {
			return false
		}
	}
	return true
}

// Clone copies the header.
func (h *Header) Clone() Header {
	return Header{Dims: slices.Clone(h.Dims), Box: slices.Clone(h.Box), Splits: slices.Clone(h.Splits), Type: h.Type}
}

// Positions is the number of positions of level l; Positions(-1) is 1.
// For a view it counts what its arrays show.
func (t *Tensor) Positions(l int) int64 {
	p := int64(1)
	for i := 0; i <= l; i++ {
		switch t.Levels[i].Form() {
		case Full:
			p *= t.Levels[i].Size
		case Segmented, Single:
			p = t.Levels[i].Crd.Len
		}
	}
	return p
}

// Bytes is the size of all arrays.
func (t *Tensor) Bytes() int64 {
	n := t.Vals.Len * int64(t.Vals.Width)
	for _, l := range t.Levels {
		n += l.Pos.Len*int64(l.Pos.Width) + l.Crd.Len*int64(l.Crd.Width)
	}
	return n
}

// Hold keeps m until the tensor is closed. The tensor takes its own reference.
func (t *Tensor) Hold(m *Memory) {
	if m != nil {
		m.Retain()
		t.held = append(t.held, m)
	}
}

// Share makes t hold all memory that o holds, so that arrays of o can stand in t.
func (t *Tensor) Share(o *Tensor) {
	for _, m := range o.held {
		t.Hold(m)
	}
}

// ShareArray makes t hold the memory of o in which an array of o begins, so that
// the array can stand in t: a result that has its operand's pattern shares it.
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
	t.Share(o) // of an empty array, whose memory may end where it begins
}

// Holds reports whether the tensor holds the memory in which a, one of its arrays, lies. Where
// not, it is the memory of the program that made the tensor, and may be of the Go heap.
func (t *Tensor) Holds(a Array) bool {
	return slices.ContainsFunc(t.held, func(m *Memory) bool {
		off := uintptr(a.Ptr) - uintptr(m.Ptr)
		return off < uintptr(max(m.Bytes, 1))
	})
}

// CloseAll closes tensors, such as a rank's blocks of one.
func CloseAll[K comparable](blocks map[K]*Tensor) {
	for _, t := range blocks {
		t.Close()
	}
}

// CloseList closes the tensors of a list, of which some may be nil.
func CloseList(list ...*Tensor) {
	for _, t := range list {
		if t != nil {
			t.Close()
		}
	}
}

// Close releases the tensor's memory, which is freed when no view or sharer
// holds it. The arrays are not to be used afterwards. A second Close does nothing.
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
	t.passed.Store(nil) // no pointer may stay to memory that is given back
	return first
}
