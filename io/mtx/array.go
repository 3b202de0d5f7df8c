package mtx

import (
	"sort"
	"unsafe"

	"distaff/io/tensor"
	"distaff/io/text"
)

// place computes the coordinates of a block's values. It stores the entries in a.cols and
// a.vals, and returns their number.
func (a *array) place(b *text.Block) (int, error) {
	switch a.layout.Type {
	case tensor.Float64:
		return placeAs(a, b, reflectReal[float64])
	case tensor.Float32:
		return placeAs(a, b, reflectReal[float32])
	case tensor.Int64:
		return placeAs(a, b, reflectReal[int64])
	case tensor.Int32:
		return placeAs(a, b, reflectReal[int32])
	case tensor.Bool:
		return placeAs(a, b, reflectReal[tensor.Truth])
	case tensor.Int8:
		return placeAs(a, b, reflectReal[int8])
	case tensor.Int16:
		return placeAs(a, b, reflectReal[int16])
	case tensor.Uint8:
		return placeAs(a, b, reflectReal[uint8])
	case tensor.Uint16:
		return placeAs(a, b, reflectReal[uint16])
	case tensor.Uint32:
		return placeAs(a, b, reflectReal[uint32])
	case tensor.Uint64:
		return placeAs(a, b, reflectReal[uint64])
	case tensor.Complex128:
		return placeAs(a, b, reflectComplex[complex128])
	case tensor.Complex64:
		return placeAs(a, b, reflectComplex[complex64])
	}
	panic("BUG: mtx: array of no type")
}

func placeAs[T number](a *array, b *text.Block, reflect func(T, symmetry) T) (int, error) {
	var z T
	src := valuesOf[T](b.Vals)
	capacity := len(src)
	if a.h.sym != general {
		capacity *= 2
	}
	a.vals.ReserveVals(capacity * int(unsafe.Sizeof(z)))
	dst := valuesOf[T](a.vals.Vals)
	dims := a.h.dims
	if a.cols == nil {
		a.cols = make([][]int64, len(dims))
	}
	for m := range a.cols {
		if cap(a.cols[m]) < capacity {
			a.cols[m] = make([]int64, capacity)
		}
		a.cols[m] = a.cols[m][:capacity]
	}
	if a.next == nil {
		a.next = a.h.valueAt(a.first)
	}
	n := 0
	at := a.next
	for k := range src {
		if !isPositiveZero(&src[k]) || len(dims) == 0 {
			for m, c := range at {
				a.cols[m][n] = c
			}
			dst[n] = src[k]
			n++
			if a.h.sym != general {
				if msg := against(src[k], a.h.sym, at[0] == at[1]); msg != "" {
					return 0, text.Dataf(a.count.file, a.lines.LineBefore()-b.Lines+b.LineOf(k, '%'), 1, "%s", msg)
				}
				if at[0] != at[1] {
					a.cols[0][n], a.cols[1][n], dst[n] = at[1], at[0], reflect(src[k], a.h.sym)
					n++
				}
			}
		}
		for m := range at {
			if at[m]++; at[m] < dims[m] {
				break
			}
			at[m] = 0
			if m == 0 && a.h.sym != general {
				at[0] = at[1] + 1 // the next column starts at the diagonal
				if a.h.sym == skew {
					at[0]++
				}
			}
		}
	}
	a.vals.Vals = a.vals.Vals[:n*int(unsafe.Sizeof(z))]
	return n, nil
}

// valueAt returns the coordinates of value number k of an array file. The file lists its values
// with the first mode fastest. If the matrix has a symmetry, the file lists only the columns of the
// lower triangle, without the diagonal if the matrix is skew-symmetric.
func (h *header) valueAt(k int64) []int64 {
	at := make([]int64, len(h.dims))
	if h.sym == general {
		for m, d := range h.dims {
			if d > 0 {
				at[m], k = k%d, k/d
			}
		}
		return at
	}
	n, diagonal := h.dims[0], int64(1)
	if h.sym == skew {
		diagonal = 0
	}
	// Column j begins after j columns of n-1+diagonal, n-2+diagonal, ... values.
	before := func(j int64) int64 { return j*(n-1+diagonal) - j*(j-1)/2 }
	j := int64(sort.Search(int(n), func(j int) bool { return before(int64(j)+1) > k }))
	return []int64{j + 1 - diagonal + k - before(j), j}
}

// isPositiveZero reports whether the value at v is zero and not a negative zero.
func isPositiveZero[T number](v *T) bool {
	switch unsafe.Sizeof(*v) {
	case 1:
		return *(*uint8)(unsafe.Pointer(v)) == 0
	case 2:
		return *(*uint16)(unsafe.Pointer(v)) == 0
	case 4:
		return *(*uint32)(unsafe.Pointer(v)) == 0
	case 8:
		return *(*uint64)(unsafe.Pointer(v)) == 0
	}
	p := (*[2]uint64)(unsafe.Pointer(v))
	return p[0]|p[1] == 0
}
