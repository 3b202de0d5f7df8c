// Package blas calls dense kernels of a BLAS on row-major matrices: what a
// schedule may substitute for the innermost loops of a dense product.
//
// The BLAS is gonum's, in Go, or with the build tag openblas OpenBLAS by cgo
// (found by pkg-config); that one leaves call directly, without this package. Either may skip factors that are zero, so that zero
// times infinity is zero instead of NaN, and adds in an order of its own.
package blas

import "fmt"

// Scalar is an element type.
type Scalar interface {
	float32 | float64 | complex64 | complex128
}

// Matrix is a row-major matrix: element (i,j) is Data[i*Stride+j]. The caller
// owns Data.
type Matrix[T Scalar] struct {
	Rows, Cols, Stride int
	Data               []T
}

// Vector is N elements, Inc apart.
type Vector[T Scalar] struct {
	N, Inc int
	Data   []T
}

// Row is row i as a vector, Col column j.
func (m Matrix[T]) Row(i int) Vector[T] {
	return Vector[T]{m.Cols, 1, m.Data[i*m.Stride:]}
}

func (m Matrix[T]) Col(j int) Vector[T] {
	return Vector[T]{m.Rows, max(m.Stride, 1), m.Data[j:]}
}

func (m Matrix[T]) check(what string) {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < max(m.Cols, 1) ||
		m.Rows > 0 && m.Cols > 0 && len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		panic(fmt.Sprintf("BUG: blas: %s: a %dx%d matrix of stride %d in %d elements", what, m.Rows, m.Cols, m.Stride, len(m.Data)))
	}
}

func (v Vector[T]) check(what string) {
	if v.N < 0 || v.Inc < 1 || v.N > 0 && len(v.Data) < (v.N-1)*v.Inc+1 {
		panic(fmt.Sprintf("BUG: blas: %s: a vector of %d, %d apart, in %d elements", what, v.N, v.Inc, len(v.Data)))
	}
}

func (m Matrix[T]) dims(transposed bool) (rows, cols int) {
	if transposed {
		return m.Cols, m.Rows
	}
	return m.Rows, m.Cols
}

// Gemm computes C = alpha*op(A)*op(B) + beta*C; op transposes where transA,
// transB say so. C must not overlap A or B. With beta 0 what C holds is not read.
func Gemm[T Scalar](transA, transB bool, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	a.check("A")
	b.check("B")
	c.check("C")
	m, k := a.dims(transA)
	k2, n := b.dims(transB)
	if k != k2 || m != c.Rows || n != c.Cols {
		panic(fmt.Sprintf("BUG: blas: Gemm: %dx%d times %dx%d into %dx%d", m, k, k2, n, c.Rows, c.Cols))
	}
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		scale(beta, c)
		return
	}
	gemm(transA, transB, m, n, k, alpha, a, b, beta, c)
}

func scale[T Scalar](beta T, c Matrix[T]) {
	for i := range c.Rows {
		row := c.Data[i*c.Stride:][:c.Cols]
		for j := range row {
			if beta == 0 {
				row[j] = 0
			} else {
				row[j] *= beta
			}
		}
	}
}

// Gemv computes y = alpha*op(A)*x + beta*y. y must not overlap A or x.
func Gemv[T Scalar](transA bool, alpha T, a Matrix[T], x Vector[T], beta T, y Vector[T]) {
	a.check("A")
	x.check("x")
	y.check("y")
	m, n := a.dims(transA)
	if n != x.N || m != y.N {
		panic(fmt.Sprintf("BUG: blas: Gemv: %dx%d times %d into %d", m, n, x.N, y.N))
	}
	if m == 0 {
		return
	}
	if n == 0 {
		scale(beta, Matrix[T]{y.N, 1, y.Inc, y.Data})
		return
	}
	gemv(transA, alpha, a, x, beta, y)
}

// Dot is the sum of x[i]*y[i], without conjugation.
func Dot[T Scalar](x, y Vector[T]) T {
	x.check("x")
	y.check("y")
	if x.N != y.N {
		panic(fmt.Sprintf("BUG: blas: Dot: %d elements with %d", x.N, y.N))
	}
	if x.N == 0 {
		return 0
	}
	return dot(x, y)
}
