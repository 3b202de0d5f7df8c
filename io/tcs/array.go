package tcs

import "unsafe"

// Slice returns the array's elements as a Go slice over the same memory. The size of T must
// equal the array's width.
func Slice[T any](a Array) []T {
	var z T
	if a.Len == 0 {
		return nil
	}
	if unsafe.Sizeof(z) != uintptr(a.Width) {
		panic("BUG: tcs: slice of another width than the array's")
	}
	if a.Ptr == nil {
		panic("BUG: tcs: array is not loaded")
	}
	return unsafe.Slice((*T)(a.Ptr), a.Len)
}

// Of returns an array over the elements of s. The caller keeps the memory alive.
func Of[T any](s []T) Array {
	var z T
	return Array{Ptr: unsafe.Pointer(unsafe.SliceData(s)), Len: int64(len(s)),
		Width: uint8(unsafe.Sizeof(z))}
}

// Int returns element i of a pos or crd array, counted from Ptr.
func (a Array) Int(i int64) int64 {
	if uint64(i) >= uint64(a.Len) {
		panic("BUG: tcs: array index out of range")
	}
	if a.Width == 4 {
		return int64(*(*int32)(unsafe.Add(a.Ptr, i*4)))
	}
	return *(*int64)(unsafe.Add(a.Ptr, i*8))
}

// At returns the element whose position in the whole tensor is p.
func (a Array) At(p int64) int64 { return a.Int(p - a.First) }

// SetInt stores v as element i, counted from Ptr.
func (a Array) SetInt(i, v int64) {
	if uint64(i) >= uint64(a.Len) {
		panic("BUG: tcs: array index out of range")
	}
	if a.Width == 4 {
		*(*int32)(unsafe.Add(a.Ptr, i*4)) = int32(v)
		return
	}
	*(*int64)(unsafe.Add(a.Ptr, i*8)) = v
}

// Ints copies elements [i, i+len(dst)) of a pos or crd array into dst.
func (a Array) Ints(dst []int64, i int64) {
	if a.Width == 4 {
		for k, v := range Slice[int32](a)[i:][:len(dst)] {
			dst[k] = int64(v)
		}
		return
	}
	copy(dst, Slice[int64](a)[i:][:len(dst)])
}

// Int64s returns the elements of a pos or crd array as 64-bit integers, in new memory.
func (a Array) Int64s() []int64 {
	s := make([]int64, a.Len)
	if a.Len > 0 {
		a.Ints(s, 0)
	}
	return s
}

// Bytes returns the array's memory as bytes. It copies nothing.
func (a Array) Bytes() []byte {
	if a.Len == 0 {
		return nil
	}
	if a.Ptr == nil {
		panic("BUG: tcs: array is not loaded")
	}
	return unsafe.Slice((*byte)(a.Ptr), a.Len*int64(a.Width))
}

// Sub returns the array of the elements [lo, hi), counted from Ptr. If the array is empty, its Ptr
// is a.Ptr and not the address after the last element. That address may belong to another object of
// the Go heap, which the garbage collector may already have freed.
func (a Array) Sub(lo, hi int64) Array {
	if lo < 0 || hi < lo || hi > a.Len {
		panic("BUG: tcs: array bounds out of range")
	}
	s := Array{Len: hi - lo, First: a.First + lo, Width: a.Width, Ptr: a.Ptr}
	if lo < hi && a.Ptr != nil {
		s.Ptr = unsafe.Add(a.Ptr, lo*int64(a.Width))
	}
	return s
}

// search returns the first index in [lo, hi) whose element is >= key, or hi if there is none.
// The elements must be sorted.
func (a Array) search(lo, hi, key int64) int64 {
	for lo < hi {
		mid := int64(uint64(lo+hi) >> 1)
		if a.Int(mid) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
