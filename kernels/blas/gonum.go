//go:build !openblas

package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

var impl gonum.Implementation

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

func gemm[T Scalar](tA, tB bool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	ta, tb := trans(tA), trans(tB)
	switch alpha := any(alpha).(type) {
	case float32:
		impl.Sgemm(ta, tb, m, n, k, alpha, any(a.Data).([]float32), a.Stride,
			any(b.Data).([]float32), b.Stride, any(beta).(float32), any(c.Data).([]float32),
			c.Stride)
	case float64:
		impl.Dgemm(ta, tb, m, n, k, alpha, any(a.Data).([]float64), a.Stride,
			any(b.Data).([]float64), b.Stride, any(beta).(float64), any(c.Data).([]float64),
			c.Stride)
	case complex64:
		impl.Cgemm(ta, tb, m, n, k, alpha, any(a.Data).([]complex64), a.Stride,
			any(b.Data).([]complex64), b.Stride, any(beta).(complex64), any(c.Data).([]complex64),
			c.Stride)
	case complex128:
		impl.Zgemm(ta, tb, m, n, k, alpha, any(a.Data).([]complex128), a.Stride,
			any(b.Data).([]complex128), b.Stride, any(beta).(complex128),
			any(c.Data).([]complex128), c.Stride)
	}
}
