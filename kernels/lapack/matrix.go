package lapack

import (
	"math"
	"math/cmplx"
	"slices"

	"distaff/kernels/blas"
)

// number is the type of a matrix's values.
type number interface{ float64 | complex128 }

// matrix is a row-major matrix without gaps between rows.
type matrix[T number] struct {
	rows, cols int
	data       []T
	isVector   bool // the matrix is a vector, as a single column
}

func newMatrix[T number](rows, cols int) matrix[T] {
	return matrix[T]{rows: rows, cols: cols, data: make([]T, rows*cols)}
}

func identity[T number](n int) matrix[T] {
	m := newMatrix[T](n, n)
	for k := range n {
		m.data[k*n+k] = 1
	}
	return m
}

// fromReal returns x as a T.
func fromReal[T number](x float64) (y T) {
	switch p := any(&y).(type) {
	case *float64:
		*p = x
	case *complex128:
		*p = complex(x, 0)
	}
	return y
}

// matrixOf returns the values of an array, which it may share.
func matrixOf[T number](a Array) matrix[T] {
	m := matrix[T]{rows: a.Dims[0], cols: 1, isVector: len(a.Dims) == 1}
	if !m.isVector {
		m.cols = a.Dims[1]
	}
	switch p := any(&m.data).(type) {
	case *[]float64:
		*p = a.Real
	case *[]complex128:
		if *p = a.Complex; a.Complex == nil {
			for _, x := range a.Real {
				*p = append(*p, complex(x, 0))
			}
		}
	}
	return m
}

// array returns m as an array, which shares its values.
func (m matrix[T]) array() Array {
	a := Array{Dims: []int{m.rows, m.cols}}
	if m.isVector {
		a.Dims = []int{m.rows}
	}
	switch data := any(m.data).(type) {
	case []float64:
		a.Real = data
	case []complex128:
		a.Complex = data
	}
	return a
}

func (m matrix[T]) isEmpty() bool { return m.rows == 0 || m.cols == 0 }

func (m matrix[T]) clone() matrix[T] {
	m.data = slices.Clone(m.data)
	return m
}

// conj returns the complex conjugate of x.
func conj[T number](x T) T {
	if p, ok := any(&x).(*complex128); ok {
		*p = cmplx.Conj(*p)
	}
	return x
}

// abs returns the absolute value of x.
func abs[T number](x T) float64 {
	switch x := any(x).(type) {
	case complex128:
		return cmplx.Abs(x)
	case float64:
		return math.Abs(x)
	}
	panic("BUG: lapack: a value of no type")
}

// adjoint returns the conjugate transpose of m.
func (m matrix[T]) adjoint() matrix[T] {
	t := newMatrix[T](m.cols, m.rows)
	for i := range m.rows {
		for j := range m.cols {
			t.data[j*m.rows+i] = conj(m.data[i*m.cols+j])
		}
	}
	return t
}

// byColumns returns the values of m column after column.
func (m matrix[T]) byColumns() []T {
	list := make([]T, len(m.data))
	for i := range m.rows {
		for j := range m.cols {
			list[j*m.rows+i] = m.data[i*m.cols+j]
		}
	}
	return list
}

// fromColumns returns the matrix with the given values, column after column.
func fromColumns[T number](rows, cols int, list []T) matrix[T] {
	m := newMatrix[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.data[i*cols+j] = list[j*rows+i]
		}
	}
	return m
}

// times returns m times n.
func (m matrix[T]) times(n matrix[T]) matrix[T] {
	out := newMatrix[T](m.rows, n.cols)
	view := func(m matrix[T]) blas.Matrix[T] {
		return blas.Matrix[T]{Rows: m.rows, Cols: m.cols, Stride: max(m.cols, 1), Data: m.data}
	}
	blas.Gemm(false, false, 1, view(m), view(n), 0, view(out))
	return out
}

// triangle clears the values of m above its diagonal, or below it.
func (m matrix[T]) triangle(lower bool) matrix[T] {
	for i := range m.rows {
		for j := range m.cols {
			if lower && j > i || !lower && j < i {
				m.data[i*m.cols+j] = 0
			}
		}
	}
	return m
}

// head returns the first rows of m.
func (m matrix[T]) head(rows int) matrix[T] {
	return matrix[T]{rows: rows, cols: m.cols, data: m.data[:rows*m.cols]}
}

// checkFinite returns an error if m has a NaN or an infinity.
func (m matrix[T]) checkFinite() error {
	for _, x := range m.data {
		if a := abs(x); math.IsNaN(a) || math.IsInf(a, 0) {
			return &Error{"the matrix has values that are not finite"}
		}
	}
	return nil
}
