package mtx

import (
	"fmt"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// number is a Go type of values.
type number interface{ tensor.Element }

func valuesOf[T number](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

// reflectReal returns the value of the mirror image of an entry with value v.
func reflectReal[T tensor.Real](v T, sym symmetry) T {
	if sym == skew {
		return -v
	}
	return v
}

// reflectComplex is like reflectReal, for complex values.
func reflectComplex[T complex128 | complex64](v T, sym symmetry) T {
	switch sym {
	case skew:
		return -v
	case hermitian:
		w := complex128(v)
		return T(complex(real(w), -imag(w)))
	}
	return v
}

// mirror appends to b the mirror image of each entry that is not on the diagonal.
func mirror(b *text.Block, sym symmetry, l *text.Layout) {
	switch l.Type {
	case tensor.Float64:
		mirrorAs(b, l, sym, reflectReal[float64])
	case tensor.Float32:
		mirrorAs(b, l, sym, reflectReal[float32])
	case tensor.Int64:
		mirrorAs(b, l, sym, reflectReal[int64])
	case tensor.Int32:
		mirrorAs(b, l, sym, reflectReal[int32])
	case tensor.Bool:
		mirrorAs(b, l, sym, reflectReal[tensor.Truth])
	case tensor.Int8:
		mirrorAs(b, l, sym, reflectReal[int8])
	case tensor.Int16:
		mirrorAs(b, l, sym, reflectReal[int16])
	case tensor.Uint8:
		mirrorAs(b, l, sym, reflectReal[uint8])
	case tensor.Uint16:
		mirrorAs(b, l, sym, reflectReal[uint16])
	case tensor.Uint32:
		mirrorAs(b, l, sym, reflectReal[uint32])
	case tensor.Uint64:
		mirrorAs(b, l, sym, reflectReal[uint64])
	case tensor.Complex128:
		mirrorAs(b, l, sym, reflectComplex[complex128])
	case tensor.Complex64:
		mirrorAs(b, l, sym, reflectComplex[complex64])
	}
}

func mirrorAs[T number](b *text.Block, l *text.Layout, sym symmetry, reflect func(T, symmetry) T) {
	vals := valuesOf[T](b.Vals[:cap(b.Vals)])
	rows, cols := b.Coords[0], b.Coords[1]
	n, marks := b.Raw, uint8(0)
	for k := range b.Raw {
		if msg := against(vals[k], sym, rows[k] == cols[k]); msg != "" {
			b.Err = text.Dataf(l.File, b.LineOf(k, l.Comment), 1, "%s", msg)
			return
		}
		if rows[k] == cols[k] {
			continue
		}
		if rows[k] > cols[k] {
			marks |= below
		} else {
			marks |= above
		}
		rows[n], cols[n], vals[n] = cols[k], rows[k], reflect(vals[k], sym)
		n++
	}
	b.N, b.Marks = n, marks
	var z T
	b.Vals = b.Vals[:n*int(unsafe.Sizeof(z))]
}

// against returns the error message if the symmetry does not allow an entry with value v, or "" if
// it does. diagonal is true for an entry on the diagonal.
func against[T number](v T, sym symmetry, diagonal bool) string {
	switch {
	case !diagonal:
		if sym == skew && !coo.HasNegative(v) {
			return coo.NegativeText(v)
		}
	case sym == skew && v != 0:
		return fmt.Sprintf(
			"got %v on the diagonal of a skew-symmetric matrix, want either no entry or a zero",
			v)
	case sym == hermitian:
		if c, ok := any(v).(complex128); ok && imag(c) != 0 {
			return fmt.Sprintf("got %v on the diagonal of a hermitian matrix, want a real value",
				c)
		}
		if c, ok := any(v).(complex64); ok && imag(c) != 0 {
			return fmt.Sprintf("got %v on the diagonal of a hermitian matrix, want a real value",
				c)
		}
	}
	return ""
}
