// Package lapack computes functions of whole dense matrices: solutions of linear equations,
// inverses, factorizations and determinants.
//
// It calls the LAPACK of the BLAS library that leaves use (kernels.BLASSymbol). Without such a
// library it calls gonum's LAPACK, which has real matrices only. It computes in float64 or
// complex128. Results have the shapes and the meanings of the functions with the same names in
// NumPy; package jobfile has the table of shapes and types.
//
// # Files
//
//	lapack.go   Call, and the functions by name
//	matrix.go   row-major matrices
//	library.go  the functions of a library
//	gonum.go    the functions of gonum
//	check.go    Residual: whether results fit their operands
package lapack

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Array is a dense array in row-major order. Exactly one of Real and Complex has its values; both
// are nil if it is empty.
type Array struct {
	Dims    []int
	Real    []float64
	Complex []complex128
}

// Error is an error in the values of a matrix (exit code 3), such as a singular matrix.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// ExitCode is 3.
func (e *Error) ExitCode() int { return 3 }

// MaxSize is the largest value that the smaller size of a matrix may have. The lengths of LAPACK's
// work arrays then fit in 32 bits.
const MaxSize = 20000

// ErrComplex is the error of a function of complex matrices for which no library is found.
var ErrComplex = errors.New("complex matrices need OpenBLAS or MKL, and neither is found: gonum, " +
	"which is used instead, has real matrices only")

// Names returns the names of the functions, sorted.
func Names() []string {
	var list []string
	for name := range functions[float64]() {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Call computes the function called name. All operands must have values of one kind, real or
// complex. It returns an *Error if the values have no result.
func Call(name string, in []Array) ([]Array, error) {
	for _, a := range in {
		if len(a.Dims) == 2 && min(a.Dims[0], a.Dims[1]) > MaxSize {
			return nil, &Error{fmt.Sprintf("got a matrix of %d rows and %d columns, but the smaller "+
				"of both numbers can be at most %d", a.Dims[0], a.Dims[1], MaxSize)}
		}
	}
	for _, a := range in {
		if a.Complex != nil {
			if _, ok := found[complex128](); !ok {
				return nil, ErrComplex
			}
			return call[complex128](name, in)
		}
	}
	return call[float64](name, in)
}

func call[T number](name string, in []Array) ([]Array, error) {
	b, ok := found[T]()
	if !ok {
		b = any(gonumBackend{}).(backend[T])
	}
	list := make([]matrix[T], len(in))
	for k, a := range in {
		list[k] = matrixOf[T](a)
	}
	return functions[T]()[name](b, list)
}

// Work returns an upper bound of the bytes that Call needs, besides its operands. The bound
// includes the results.
// size is the number of bytes of a value, and dims has the sizes of the operands.
func Work(size int64, dims ...[]int64) int64 {
	most, n := float64(1), float64(0)
	for _, d := range dims {
		entries := float64(1)
		for _, x := range d {
			entries *= float64(x)
			most = max(most, float64(x))
		}
		n = max(n, entries)
	}
	least := n / most // the smaller size of the largest matrix
	bytes := float64(size) * (12*n + 8*least*least + 512*most + 4096)
	return int64(min(bytes, math.MaxInt64/2))
}

// function computes the results of one of the functions with the routines of b.
type function[T number] func(b backend[T], in []matrix[T]) ([]Array, error)

// backend has the routines of LAPACK over row-major matrices. A routine may overwrite its operands.
type backend[T number] interface {
	// solve returns the solution X of A X = B, or false if A is singular.
	solve(a, b matrix[T]) (matrix[T], bool)
	// lu factors A in place. swaps is the number of exchanged rows.
	lu(a matrix[T]) (swaps int)
	// qr returns the reduced factors Q and R of A.
	qr(a matrix[T]) (q, r matrix[T])
	// svd returns the reduced factors U, s and V^H of A, or false if it does not converge.
	svd(a matrix[T]) (u matrix[T], s []float64, vh matrix[T], ok bool)
	// eigh returns the eigenvalues in ascending order and the eigenvectors of A, or false if it does
	// not converge. A is Hermitian; only its lower triangle is read.
	eigh(a matrix[T]) (w []float64, v matrix[T], ok bool)
	// cholesky returns the lower factor of A, or false if A is not positive definite.
	cholesky(a matrix[T]) (matrix[T], bool)
}

func functions[T number]() map[string]function[T] {
	return map[string]function[T]{
		"solve": func(b backend[T], in []matrix[T]) ([]Array, error) {
			return solve(b, in[0], in[1])
		},
		"inv": func(b backend[T], in []matrix[T]) ([]Array, error) {
			return solve(b, in[0], identity[T](in[0].rows))
		},
		"pinv": pinv[T], "det": det[T], "qr": qr[T], "svd": svd[T], "eigh": eigh[T],
		"cholesky": func(b backend[T], in []matrix[T]) ([]Array, error) {
			if in[0].isEmpty() {
				return []Array{in[0].array()}, nil
			}
			l, ok := b.cholesky(in[0].clone())
			if !ok {
				return nil, &Error{"the matrix is not positive definite"}
			}
			return []Array{l.array()}, nil
		},
	}
}

func solve[T number](b backend[T], a, rhs matrix[T]) ([]Array, error) {
	if rhs.isEmpty() {
		return []Array{rhs.array()}, nil
	}
	x, ok := b.solve(a.clone(), rhs.clone())
	if !ok {
		return nil, &Error{"the matrix is singular"}
	}
	x.isVector = rhs.isVector
	return []Array{x.array()}, nil
}

func det[T number](b backend[T], in []matrix[T]) ([]Array, error) {
	d := T(1)
	if a := in[0].clone(); !a.isEmpty() {
		if b.lu(a)%2 == 1 {
			d = -d
		}
		for k := range a.rows {
			d *= a.data[k*a.cols+k]
		}
	}
	x := matrix[T]{rows: 1, cols: 1, data: []T{d}}.array()
	x.Dims = nil
	return []Array{x}, nil
}

func qr[T number](b backend[T], in []matrix[T]) ([]Array, error) {
	a := in[0].clone()
	if a.isEmpty() {
		return []Array{newMatrix[T](a.rows, 0).array(), newMatrix[T](0, a.cols).array()}, nil
	}
	q, r := b.qr(a)
	return []Array{q.array(), r.array()}, nil
}

// factors returns the reduced singular value decomposition of a.
func factors[T number](b backend[T], a matrix[T]) (u matrix[T], s []float64, vh matrix[T],
	err error) {
	if a.isEmpty() {
		return newMatrix[T](a.rows, 0), nil, newMatrix[T](0, a.cols), nil
	}
	if err := a.checkFinite(); err != nil {
		return u, s, vh, err
	}
	u, s, vh, ok := b.svd(a.clone())
	if !ok {
		return u, s, vh, &Error{"the singular value decomposition does not converge"}
	}
	return u, s, vh, nil
}

func svd[T number](b backend[T], in []matrix[T]) ([]Array, error) {
	u, s, vh, err := factors(b, in[0])
	if err != nil {
		return nil, err
	}
	return []Array{u.array(), {Dims: []int{len(s)}, Real: s}, vh.array()}, nil
}

// pinv computes the Moore-Penrose inverse. Singular values up to a tolerance count as zero. The
// tolerance is the largest singular value, times 1e-15 or the larger size times the relative
// rounding error of a float64.
func pinv[T number](b backend[T], in []matrix[T]) ([]Array, error) {
	u, s, vh, err := factors(b, in[0])
	if err != nil {
		return nil, err
	}
	if len(s) > 0 {
		least := s[0] * max(1e-15, float64(max(in[0].rows, in[0].cols))*0x1p-52)
		for k, x := range s {
			scale := T(0)
			if x > least {
				scale = fromReal[T](1 / x)
			}
			for j := range vh.cols {
				vh.data[k*vh.cols+j] *= scale
			}
		}
	}
	return []Array{vh.adjoint().times(u.adjoint()).array()}, nil
}

func eigh[T number](b backend[T], in []matrix[T]) ([]Array, error) {
	a := in[0].clone()
	if a.isEmpty() {
		return []Array{{Dims: []int{0}}, a.array()}, nil
	}
	if err := a.checkFinite(); err != nil {
		return nil, err
	}
	w, v, ok := b.eigh(a)
	if !ok {
		return nil, &Error{"the eigenvalues do not converge"}
	}
	return []Array{{Dims: []int{len(w)}, Real: w}, v.array()}, nil
}

// must panics if a routine refuses the form of its arguments.
func must(routine string, info int) {
	if info < 0 {
		panic(fmt.Sprintf("BUG: lapack: %s refuses argument %d", routine, -info))
	}
}
