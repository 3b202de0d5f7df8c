package hb

import (
	"fmt"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// values returns the batch's memory for values as a slice. T must be the Go type of s.typ.
func values[T tensor.Element](s *stream) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(&s.words[0])), len(s.words)*8/int(unsafe.Sizeof(z)))
}

// reflect stores the value of entry n's mirror image as value n+1. It returns an error for an
// integer in a skew-symmetric matrix that cannot be negated.
func (s *stream) reflect(n int) error {
	switch s.typ {
	case tensor.Float64:
		reflect(values[float64](s), n, s.h.sym)
	case tensor.Float32:
		reflect(values[float32](s), n, s.h.sym)
	case tensor.Int64:
		return reflectInt(s, values[int64](s), n)
	case tensor.Int32:
		return reflectInt(s, values[int32](s), n)
	case tensor.Bool:
		return reflectInt(s, values[tensor.Truth](s), n)
	case tensor.Int8:
		return reflectInt(s, values[int8](s), n)
	case tensor.Int16:
		return reflectInt(s, values[int16](s), n)
	case tensor.Uint8:
		return reflectInt(s, values[uint8](s), n)
	case tensor.Uint16:
		return reflectInt(s, values[uint16](s), n)
	case tensor.Uint32:
		return reflectInt(s, values[uint32](s), n)
	case tensor.Uint64:
		return reflectInt(s, values[uint64](s), n)
	case tensor.Complex128:
		v := values[complex128](s)
		if reflect(v, n, s.h.sym); s.h.sym == 'h' {
			v[n+1] = complex(real(v[n]), -imag(v[n]))
		}
	case tensor.Complex64:
		v := values[complex64](s)
		if reflect(v, n, s.h.sym); s.h.sym == 'h' {
			v[n+1] = complex(real(v[n]), -imag(v[n]))
		}
	}
	return nil
}

func reflectInt[T tensor.Real](s *stream, v []T, n int) error {
	if s.h.sym == 'z' && !coo.HasNegative(v[n]) {
		return text.Dataf(s.src.Name, s.val.no, s.val.col, "%s", coo.NegativeText(v[n]))
	}
	reflect(v, n, s.h.sym)
	return nil
}

func reflect[T tensor.Element](v []T, n int, sym byte) {
	v[n+1] = v[n]
	if sym == 'z' {
		v[n+1] = -v[n]
	}
}

// diagonal returns an error if the matrix's symmetry does not allow value number n of the batch on
// the diagonal. In a skew-symmetric matrix the value must be zero, and in a Hermitian matrix it
// must be real.
func (s *stream) diagonal(n int) error {
	var v complex128
	switch s.typ {
	case tensor.Float64:
		v = complex(values[float64](s)[n], 0)
	case tensor.Float32:
		v = complex(float64(values[float32](s)[n]), 0)
	case tensor.Int64:
		v = complex(float64(values[int64](s)[n]), 0)
	case tensor.Int32:
		v = complex(float64(values[int32](s)[n]), 0)
	case tensor.Bool:
		v = complex(float64(values[tensor.Truth](s)[n]), 0)
	case tensor.Int8:
		v = complex(float64(values[int8](s)[n]), 0)
	case tensor.Int16:
		v = complex(float64(values[int16](s)[n]), 0)
	case tensor.Uint8:
		v = complex(float64(values[uint8](s)[n]), 0)
	case tensor.Uint16:
		v = complex(float64(values[uint16](s)[n]), 0)
	case tensor.Uint32:
		v = complex(float64(values[uint32](s)[n]), 0)
	case tensor.Uint64:
		v = complex(float64(values[uint64](s)[n]), 0)
	case tensor.Complex128:
		v = values[complex128](s)[n]
	case tensor.Complex64:
		v = complex128(values[complex64](s)[n])
	}
	switch {
	case s.h.sym == 'z' && v != 0:
		return text.Dataf(s.src.Name, s.val.no, 1,
			"got %s in row and column %d of a skew-symmetric matrix, want either no entry or "+
				"a zero",
			show(v), s.col)
	case s.h.sym == 'h' && imag(v) != 0:
		return text.Dataf(s.src.Name, s.val.no, 1,
			"got %s in row and column %d of a Hermitian matrix, want a real value", show(v),
			s.col)
	}
	return nil
}

func show(v complex128) string {
	if imag(v) == 0 {
		return fmt.Sprint(real(v))
	}
	return fmt.Sprint(v)
}
