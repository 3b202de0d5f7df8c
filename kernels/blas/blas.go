// Package blas multiplies row-major matrices. Leaves call it for dense products if DISTAFF_BLAS is
// gonum.
//
// The BLAS is gonum's, which is written in Go. With the build tag openblas, the program is linked
// with OpenBLAS (found by pkg-config), and OpenBLAS computes the products. Leaves then also find
// OpenBLAS in the process and call it directly, without this package. Either BLAS may skip zero
// factors, so that zero times infinity is zero instead of NaN, and either adds in its own order.
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

func (m Matrix[T]) check(what string) {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < max(m.Cols, 1) ||
		m.Rows > 0 && m.Cols > 0 && len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		panic(fmt.Sprintf("BUG: blas: %s: a %dx%d matrix of stride %d in %d elements", what, m.Rows,
			m.Cols, m.Stride, len(m.Data)))
	}
}

func (m Matrix[T]) dims(transposed bool) (rows, cols int) {
	if transposed {
		return m.Cols, m.Rows
	}
	return m.Rows, m.Cols
}

// Gemm computes C = alpha*op(A)*op(B) + beta*C. op transposes A if transA is set, and B if transB
// is set. C must not overlap A or B. If beta is 0, Gemm does not read C.
func Gemm[T Scalar](transA, transB bool, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	a.check("A")
	b.check("B")
	c.check("C")
	m, k := a.dims(transA)
	k2, n := b.dims(transB)
	if k != k2 || m != c.Rows || n != c.Cols {
		panic(fmt.Sprintf("BUG: blas: Gemm: %dx%d times %dx%d into %dx%d", m, k, k2, n, c.Rows,
			c.Cols))
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
