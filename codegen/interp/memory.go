package interp

import (
	"math"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

type state uint8

const (
	alive state = iota
	unallocated
	freed
	given // owned by the caller, after Publish
	kept  // in a table, after Keep
)

var stateNames = [...]string{alive: "alive", unallocated: "used before it is allocated",
	freed: "used after it is freed", given: "used after it is published",
	kept: "used after it is kept in a table"}

// memory is a block of memory. Only the slice of its element type is set. When the leaf gives up
// the block, its handle gets a memory without elements (see gone), so that every use fails.
type memory struct {
	name   string
	elem   tensor.Type
	state  state
	first  int64
	b      []bool
	i32    []int32
	i64    []int64
	f32    []float32
	f64    []float64
	c64    []complex64
	c128   []complex128
	raw    []byte // elements of other types
	init   []bool // whether each element was written; nil if all were
	shadow [][]cell
	// byThread has a cell for each element if threads of a launch accessed the block.
	byThread []threadCell
}

func (m *memory) len() int64 {
	switch m.elem {
	case tensor.Bool:
		return int64(len(m.b))
	case tensor.Int32:
		return int64(len(m.i32))
	case tensor.Int64:
		return int64(len(m.i64))
	case tensor.Float32:
		return int64(len(m.f32))
	case tensor.Float64:
		return int64(len(m.f64))
	case tensor.Complex64:
		return int64(len(m.c64))
	case tensor.Complex128:
		return int64(len(m.c128))
	}
	return int64(len(m.raw)) / max(m.elem.Size(), 1)
}

// address returns a pointer that identifies the block, or nil if the block is empty.
func (m *memory) address() any {
	if m.len() == 0 {
		return nil
	}
	switch m.elem {
	case tensor.Bool:
		return unsafe.Pointer(&m.b[0])
	case tensor.Int32:
		return unsafe.Pointer(&m.i32[0])
	case tensor.Int64:
		return unsafe.Pointer(&m.i64[0])
	case tensor.Float32:
		return unsafe.Pointer(&m.f32[0])
	case tensor.Float64:
		return unsafe.Pointer(&m.f64[0])
	case tensor.Complex64:
		return unsafe.Pointer(&m.c64[0])
	case tensor.Complex128:
		return unsafe.Pointer(&m.c128[0])
	}
	return unsafe.Pointer(&m.raw[0])
}

// prefix returns the first n elements as a slice for Array.Data.
func (m *memory) prefix(n int64) any {
	switch m.elem {
	case tensor.Bool:
		return m.b[:n:n]
	case tensor.Int32:
		return m.i32[:n:n]
	case tensor.Int64:
		return m.i64[:n:n]
	case tensor.Float32:
		return m.f32[:n:n]
	case tensor.Float64:
		return m.f64[:n:n]
	case tensor.Complex64:
		return m.c64[:n:n]
	case tensor.Complex128:
		return m.c128[:n:n]
	}
	return typed(m.elem, m.raw[:n*m.elem.Size()])
}

// typed returns the bytes of integers of type t as a slice for Array.Data.
func typed(t tensor.Type, b []byte) any {
	switch t {
	case tensor.Int8:
		return cast[int8](b)
	case tensor.Int16:
		return cast[int16](b)
	case tensor.Uint8:
		return b
	case tensor.Uint16:
		return cast[uint16](b)
	case tensor.Uint32:
		return cast[uint32](b)
	}
	return cast[uint64](b)
}

func cast[T, S any](s []S) []T {
	var from S
	var to T
	n := len(s) * int(unsafe.Sizeof(from)) / int(unsafe.Sizeof(to))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), n)
}

// bytesOf returns the type and the bytes of a slice that typed returned.
func bytesOf(data any) (tensor.Type, []byte) {
	switch d := data.(type) {
	case []int8:
		return tensor.Int8, cast[byte](d)
	case []int16:
		return tensor.Int16, cast[byte](d)
	case []uint8:
		return tensor.Uint8, d
	case []uint16:
		return tensor.Uint16, cast[byte](d)
	case []uint32:
		return tensor.Uint32, cast[byte](d)
	case []uint64:
		return tensor.Uint64, cast[byte](d)
	}
	return tensor.None, nil
}

func dataLen(data any) int64 {
	switch d := data.(type) {
	case []bool:
		return int64(len(d))
	case []int32:
		return int64(len(d))
	case []int64:
		return int64(len(d))
	case []float32:
		return int64(len(d))
	case []float64:
		return int64(len(d))
	case []complex64:
		return int64(len(d))
	case []complex128:
		return int64(len(d))
	}
	t, b := bytesOf(data)
	return int64(len(b)) / max(t.Size(), 1)
}

// wrap returns the caller's array x as the memory of a. It ends the run if the types differ.
func (fr *frame) wrap(a *ir.Array, x Array) *memory {
	m := &memory{name: a.Name, elem: a.Elem, first: x.First}
	got := tensor.None
	switch d := x.Data.(type) {
	case nil:
		return m
	case []bool:
		m.b, got = d, tensor.Bool
	case []int32:
		m.i32, got = d, tensor.Int32
	case []int64:
		m.i64, got = d, tensor.Int64
	case []float32:
		m.f32, got = d, tensor.Float32
	case []float64:
		m.f64, got = d, tensor.Float64
	case []complex64:
		m.c64, got = d, tensor.Complex64
	case []complex128:
		m.c128, got = d, tensor.Complex128
	default:
		got, m.raw = bytesOf(d)
	}
	if got != a.Elem {
		fr.errorf("%s: got an array of %s (%T), want %s", a.Name, got, x.Data, a.Elem)
	}
	if x.Fresh {
		m.init = make([]bool, m.len())
	}
	return m
}

// poison is the first value of integers in a block of makeMemory that is not set to 0. Other checks
// report a read of an integer that was never written. If one of these checks misses such a read,
// poison makes the result visibly wrong, whereas zeros could give the right result.
const poison = 0x7b7b7b7b

// makeMemory returns a block of n elements. They are zeros if zero is set, and otherwise count as
// never written.
func makeMemory(name string, elem tensor.Type, n int64, zero bool) *memory {
	m := &memory{name: name, elem: elem}
	m.extend(n)
	if zero {
		return m
	}
	m.init = make([]bool, n)
	switch elem {
	case tensor.Int32:
		for i := range m.i32 {
			m.i32[i] = poison
		}
	case tensor.Int64:
		for i := range m.i64 {
			m.i64[i] = poison
		}
	case tensor.Float64:
		for i := range m.f64 {
			m.f64[i] = math.NaN()
		}
	}
	return m
}

// extend appends n zero elements to m. If m records which elements were written, the new elements
// count as never written.
func (m *memory) extend(n int64) {
	switch m.elem {
	case tensor.Bool:
		m.b = append(m.b, make([]bool, n)...)
	case tensor.Int32:
		m.i32 = append(m.i32, make([]int32, n)...)
	case tensor.Int64:
		m.i64 = append(m.i64, make([]int64, n)...)
	case tensor.Float32:
		m.f32 = append(m.f32, make([]float32, n)...)
	case tensor.Float64:
		m.f64 = append(m.f64, make([]float64, n)...)
	case tensor.Complex64:
		m.c64 = append(m.c64, make([]complex64, n)...)
	case tensor.Complex128:
		m.c128 = append(m.c128, make([]complex128, n)...)
	default:
		words := make([]uint64, ((m.len()+n)*m.elem.Size()+7)/8) // aligned for every type
		raw := cast[byte](words)
		copy(raw, m.raw)
		m.raw = raw[:(m.len()+n)*m.elem.Size()]
	}
	if m.init != nil {
		m.init = append(m.init, make([]bool, n)...)
	}
}

// markAll makes m record every later write of an element. If m does not record writes yet, all
// present elements count as written.
func (m *memory) markAll() {
	if m.init != nil {
		return
	}
	m.init = make([]bool, m.len())
	for i := range m.init {
		m.init[i] = true
	}
}

// gone returns a memory without elements, with the name and the type of m. It replaces m when the
// leaf has given up the block, so that a later use of m fails. s says how the leaf gave up the
// block: it freed the block, published it or kept it in a table.
func (m *memory) gone(s state) *memory {
	return &memory{name: m.name, elem: m.elem, state: s}
}

// readable ends the run unless element i (counted from m.first) may be read: it must exist and have
// been written. If another thread of the block has failed, the element need not have been written.
func (fr *frame) readable(m *memory, i int64) {
	fr.within(m, i)
	if m.init != nil && !m.init[i] && !fr.siblingFailed() {
		fr.errorf("%s[%d] is read but was never written", m.name, i+m.first)
	}
}

// within ends the run unless element i (counted from m.first) exists.
func (fr *frame) within(m *memory, i int64) {
	if m.state != alive {
		fr.errorf("%s[%d]: %s", m.name, i+m.first, stateNames[m.state])
	}
	if n := m.len(); uint64(i) >= uint64(n) {
		fr.errorf("%s[%d] is out of bounds [%d, %d)", m.name, i+m.first, m.first, m.first+n)
	}
}

// span converts the range [lo, hi) of an array to a range of m's elements. Element 0 of m is
// element m.first of the array. span ends the run if the leaf has given up m, or if m does not
// contain the range. An empty range is contained in every m.
func (fr *frame) span(m *memory, lo, hi int64) (int64, int64) {
	if m.state != alive {
		fr.errorf("%s[%d : %d] is %s", m.name, lo, hi, stateNames[m.state])
	}
	if lo >= hi {
		return 0, 0
	}
	if n := m.len(); lo < m.first || hi > m.first+n {
		fr.errorf("%s[%d : %d] is out of bounds [%d, %d)", m.name, lo, hi, m.first, m.first+n)
	}
	return lo - m.first, hi - m.first
}
