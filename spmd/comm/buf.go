package comm

import (
	"distaff/io/tensor"
	"fmt"
	"unsafe"
)

// Buf is Len elements of a Type at Ptr, in memory that the caller owns. Heap means that the memory
// is on the Go heap. MPI gets a staging buffer instead of it, because an MPI library must not keep
// addresses of the Go heap. The zero Buf is empty.
type Buf struct {
	Ptr  unsafe.Pointer
	Len  int64
	Type tensor.Type
	Heap bool
}

// Of returns a view of a Go slice. The type of the elements of a []byte is Byte.
func Of[T tensor.Element](s []T) Buf {
	t := tensor.TypeOf[T]()
	if t == tensor.Uint8 {
		t = tensor.Byte
	}
	return Buf{Ptr: unsafe.Pointer(unsafe.SliceData(s)), Len: int64(len(s)), Type: t, Heap: true}
}

// Mem returns a view of n elements of memory outside the Go heap: memory of C, or mapped memory.
func Mem(p unsafe.Pointer, n int64, t tensor.Type) Buf { return Buf{Ptr: p, Len: n, Type: t} }

// MemOf returns a view of a slice whose memory is known to be outside the Go heap.
func MemOf[T tensor.Element](s []T) Buf {
	b := Of(s)
	b.Heap = false
	return b
}

// Bytes returns the buffer's size in bytes.
func (b Buf) Bytes() int64 { return b.Len * b.Type.Size() }

// Slice returns a view of elements [lo, hi) of b.
func (b Buf) Slice(lo, hi int64) Buf {
	if lo < 0 || hi < lo || hi > b.Len {
		panic(fmt.Sprintf("BUG: slice [%d:%d] of a buffer of %d elements", lo, hi, b.Len))
	}
	if hi > lo { // an empty view must not point past the end of an allocation
		b.Ptr = unsafe.Add(b.Ptr, lo*b.Type.Size())
	}
	b.Len = hi - lo
	return b
}

// isOfTypeOf reports whether the elements of both buffers have one type. The zero Buf, which has no
// elements, is of any type.
func (b Buf) isOfTypeOf(o Buf) bool {
	return b.Type == o.Type || b.Type == tensor.None || o.Type == tensor.None
}

// check returns an error if the buffer is not valid: if its length is negative, its type unknown,
// or its memory nil although it has elements.
func (b Buf) check() error {
	switch {
	case b.Len < 0:
		return fmt.Errorf("got a buffer of %d elements, want 0 or more", b.Len)
	case b.Len > 0 && b.Ptr == nil:
		return fmt.Errorf("got a nil pointer for a buffer of %d elements", b.Len)
	case b.Type >= tensor.NumTypes || b.Type == tensor.None && b.Len > 0:
		return fmt.Errorf("got a buffer of the unknown type %d", b.Type)
	}
	return nil
}

// raw returns the buffer's memory as bytes.
func (b Buf) raw() []byte { return unsafe.Slice((*byte)(b.Ptr), b.Bytes()) }

// copyTo copies b to dst, which must have the same size.
func (b Buf) copyTo(dst Buf) {
	if b.Bytes() != dst.Bytes() {
		panic(fmt.Sprintf("BUG: copy of %d bytes to %d", b.Bytes(), dst.Bytes()))
	}
	if b.Len > 0 && b.Ptr != dst.Ptr {
		copy(dst.raw(), b.raw())
	}
}
