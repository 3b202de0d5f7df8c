//go:build !openblas

package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Name says which BLAS this is.
const Name = "gonum"

// SetThreads sets the threads that a call uses. gonum's calls use those of the
// Go scheduler, whatever n is.
func SetThreads(n int) {}

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
		impl.Sgemm(ta, tb, m, n, k, alpha, any(a.Data).([]float32), a.Stride, any(b.Data).([]float32), b.Stride, any(beta).(float32), any(c.Data).([]float32), c.Stride)
	case float64:
		impl.Dgemm(ta, tb, m, n, k, alpha, any(a.Data).([]float64), a.Stride, any(b.Data).([]float64), b.Stride, any(beta).(float64), any(c.Data).([]float64), c.Stride)
	case complex64:
		impl.Cgemm(ta, tb, m, n, k, alpha, any(a.Data).([]complex64), a.Stride, any(b.Data).([]complex64), b.Stride, any(beta).(complex64), any(c.Data).([]complex64), c.Stride)
	case complex128:
		impl.Zgemm(ta, tb, m, n, k, alpha, any(a.Data).([]complex128), a.Stride, any(b.Data).([]complex128), b.Stride, any(beta).(complex128), any(c.Data).([]complex128), c.Stride)
	}
}

func gemv[T Scalar](tA bool, alpha T, a Matrix[T], x Vector[T], beta T, y Vector[T]) {
	t, m, n := trans(tA), a.Rows, a.Cols
	switch alpha := any(alpha).(type) {
	case float32:
		impl.Sgemv(t, m, n, alpha, any(a.Data).([]float32), a.Stride, any(x.Data).([]float32), x.Inc, any(beta).(float32), any(y.Data).([]float32), y.Inc)
	case float64:
		impl.Dgemv(t, m, n, alpha, any(a.Data).([]float64), a.Stride, any(x.Data).([]float64), x.Inc, any(beta).(float64), any(y.Data).([]float64), y.Inc)
	case complex64:
		impl.Cgemv(t, m, n, alpha, any(a.Data).([]complex64), a.Stride, any(x.Data).([]complex64), x.Inc, any(beta).(complex64), any(y.Data).([]complex64), y.Inc)
	case complex128:
		impl.Zgemv(t, m, n, alpha, any(a.Data).([]complex128), a.Stride, any(x.Data).([]complex128), x.Inc, any(beta).(complex128), any(y.Data).([]complex128), y.Inc)
	}
}

func dot[T Scalar](x, y Vector[T]) (r T) {
	switch r := any(&r).(type) {
	case *float32:
		*r = impl.Sdot(x.N, any(x.Data).([]float32), x.Inc, any(y.Data).([]float32), y.Inc)
	case *float64:
		*r = impl.Ddot(x.N, any(x.Data).([]float64), x.Inc, any(y.Data).([]float64), y.Inc)
	case *complex64:
		*r = impl.Cdotu(x.N, any(x.Data).([]complex64), x.Inc, any(y.Data).([]complex64), y.Inc)
	case *complex128:
		*r = impl.Zdotu(x.N, any(x.Data).([]complex128), x.Inc, any(y.Data).([]complex128), y.Inc)
	}
	return r
}
