package spmd

import (
	"distaff/io/tcs"
)

// addDense adds b's values to a's: dense tensors of one box and type.
func addDense(a, b *tcs.Tensor) {
	if a.Type != b.Type || a.Vals.Len != b.Vals.Len {
		panic("BUG: spmd: blocks of different shapes are added")
	}
	switch a.Type {
	case tcs.Float64:
		addValues(tcs.Values[float64](a), tcs.Values[float64](b))
	case tcs.Float32:
		addValues(tcs.Values[float32](a), tcs.Values[float32](b))
	case tcs.Int64:
		addValues(tcs.Values[int64](a), tcs.Values[int64](b))
	case tcs.Int32:
		addValues(tcs.Values[int32](a), tcs.Values[int32](b))
	case tcs.Complex128:
		addValues(tcs.Values[complex128](a), tcs.Values[complex128](b))
	case tcs.Complex64:
		addValues(tcs.Values[complex64](a), tcs.Values[complex64](b))
	default:
		panic("BUG: spmd: blocks of an unknown type are added")
	}
}

func addValues[T float64 | float32 | int64 | int32 | complex128 | complex64](a, b []T) {
	b = b[:len(a)]
	for i := range a {
		a[i] += b[i]
	}
}
