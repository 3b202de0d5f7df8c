package comm

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Type is the type of a buffer's elements.
type Type uint8

// The element types. Byte is raw data: it can be sent, and reduced only by And and Or.
const (
	Byte Type = iota
	Int32
	Int64
	Uint64
	Float32
	Float64
	Complex64
	Complex128
	numTypes
)

var typeInfo = [numTypes]struct {
	name string
	size int64
}{
	Byte: {"byte", 1}, Int32: {"int32", 4}, Int64: {"int64", 8}, Uint64: {"uint64", 8},
	Float32: {"float32", 4}, Float64: {"float64", 8}, Complex64: {"complex64", 8},
	Complex128: {"complex128", 16},
}

func (t Type) String() string {
	if t >= numTypes {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return typeInfo[t].name
}

// Size returns the size of an element in bytes.
func (t Type) Size() int64 { return typeInfo[t].size }

// Elem lists the Go types that a Buf can hold.
type Elem interface {
	~uint8 | ~int8 | ~int32 | ~int64 | ~int | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// TypeOf returns the Type of values of type T.
func TypeOf[T Elem]() Type {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int32:
		return Int32
	case reflect.Int, reflect.Int64:
		return Int64
	case reflect.Uint64:
		return Uint64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Complex64:
		return Complex64
	case reflect.Complex128:
		return Complex128
	}
	return Byte
}

// Buf is Len elements of a Type at Ptr, in memory that the caller owns. Heap means that the memory
// is on the Go heap. An MPI library must not keep addresses of the Go heap, so that transport
// copies such buffers. The zero Buf is empty.
type Buf struct {
	Ptr  unsafe.Pointer
	Len  int64
	Type Type
	Heap bool
}

// Of returns a view of a Go slice.
func Of[T Elem](s []T) Buf {
	return Buf{Ptr: unsafe.Pointer(unsafe.SliceData(s)), Len: int64(len(s)), Type: TypeOf[T](),
		Heap: true}
}

// Mem returns a view of n elements of memory outside the Go heap: memory of C, or mapped memory.
func Mem(p unsafe.Pointer, n int64, t Type) Buf { return Buf{Ptr: p, Len: n, Type: t} }

// MemOf returns a view of a slice whose memory is known to be outside the Go heap.
func MemOf[T Elem](s []T) Buf {
	b := Of(s)
	b.Heap = false
	return b
}

// Bytes returns the buffer's size in bytes.
func (b Buf) Bytes() int64 { return b.Len * b.Type.Size() }

// Slice returns a view of elements lo to hi-1 of b.
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

// check returns an error if the buffer describes no memory.
func (b Buf) check() error {
	switch {
	case b.Type >= numTypes:
		return fmt.Errorf("buffer of unknown type %d", b.Type)
	case b.Len < 0:
		return fmt.Errorf("buffer of %d elements", b.Len)
	case b.Len > 0 && b.Ptr == nil:
		return fmt.Errorf("buffer of %d elements without memory", b.Len)
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
