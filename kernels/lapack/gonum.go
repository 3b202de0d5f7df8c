package lapack

import (
	"gonum.org/v1/gonum/blas"
	gonumlapack "gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

var impl gonum.Implementation

// gonumBackend is gonum's LAPACK, which is written in Go.
type gonumBackend struct{}

// withWork calls f with a work array of the length that f itself suggests.
func withWork(f func(work []float64, n int)) {
	ask := make([]float64, 1)
	f(ask, -1)
	n := int(ask[0])
	f(make([]float64, n), n)
}

func (gonumBackend) solve(a, b matrix[float64]) (matrix[float64], bool) {
	pivots := make([]int, a.rows)
	if !impl.Dgetrf(a.rows, a.rows, a.data, a.cols, pivots) {
		return b, false
	}
	impl.Dgetrs(blas.NoTrans, a.rows, b.cols, a.data, a.cols, pivots, b.data, b.cols)
	return b, true
}

func (gonumBackend) lu(a matrix[float64]) (swaps int) {
	pivots := make([]int, a.rows)
	impl.Dgetrf(a.rows, a.rows, a.data, a.cols, pivots)
	for k, p := range pivots {
		if p != k {
			swaps++
		}
	}
	return swaps
}

func (gonumBackend) qr(a matrix[float64]) (q, r matrix[float64]) {
	k := min(a.rows, a.cols)
	tau := make([]float64, k)
	withWork(func(work []float64, n int) {
		impl.Dgeqrf(a.rows, a.cols, a.data, a.cols, tau, work, n)
	})
	r = a.head(k).clone().triangle(false)
	q = newMatrix[float64](a.rows, k)
	for i := range a.rows {
		copy(q.data[i*k:(i+1)*k], a.data[i*a.cols:])
	}
	withWork(func(work []float64, n int) {
		impl.Dorgqr(q.rows, k, k, q.data, k, tau, work, n)
	})
	return q, r
}

func (gonumBackend) svd(a matrix[float64]) (u matrix[float64], s []float64, vh matrix[float64],
	ok bool) {
	k := min(a.rows, a.cols)
	u, s, vh = newMatrix[float64](a.rows, k), make([]float64, k), newMatrix[float64](k, a.cols)
	withWork(func(work []float64, n int) {
		ok = impl.Dgesvd(gonumlapack.SVDStore, gonumlapack.SVDStore, a.rows, a.cols, a.data, a.cols,
			s, u.data, k, vh.data, a.cols, work, n)
	})
	return u, s, vh, ok
}

func (gonumBackend) eigh(a matrix[float64]) (w []float64, v matrix[float64], ok bool) {
	w = make([]float64, a.rows)
	withWork(func(work []float64, n int) {
		ok = impl.Dsyev(gonumlapack.EVCompute, blas.Lower, a.rows, a.data, a.cols, w, work, n)
	})
	return w, a, ok
}

func (gonumBackend) cholesky(a matrix[float64]) (matrix[float64], bool) {
	ok := impl.Dpotrf(blas.Lower, a.rows, a.data, a.cols)
	return a.triangle(true), ok
}
