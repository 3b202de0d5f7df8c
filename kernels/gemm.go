package kernels

// #include "gemm.h"
import "C"

import (
	"errors"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/kernels/blas"
)

// BLASError says why there is no BLAS. Leaves then compute products by loops of their own, unless
// BadName is set: a leaf with products is then not made, which ends a run with code 1.
type BLASError struct {
	Why     string
	BadName bool // DISTAFF_BLAS names a library that cannot be used
	NoRoom  bool // limits of memory leave no room for a library's buffers
}

func (e *BLASError) Error() string {
	if e.BadName {
		return "DISTAFF_BLAS names no BLAS that can be used: " + e.Why
	}
	return e.Why
}

func (e *BLASError) ExitCode() int { return 1 }

// BLAS returns the path of the library that computes products of matrices for leaves, with what it
// says of itself. The first call loads it. The error is a *BLASError.
func BLAS() (path, config string, err error) {
	var about, why *C.char
	var state C.int
	found := C.dst_blas_found(&about, &why, &state)
	if found == nil {
		return "", "", &BLASError{C.GoString(why), state == C.DST_BLAS_BAD_NAME,
			state == C.DST_BLAS_NO_ROOM}
	}
	if about != nil {
		config = C.GoString(about)
	}
	return C.GoString(found), config, nil
}

// checkBLAS comes before a leaf of f is loaded. If f has products of matrices, it loads the BLAS: a
// name that the user gave and that is none is an error, and note is told, if memory is limited,
// what computes the products.
func checkBLAS(f *ir.Func, note func(string)) error {
	has := false
	ir.Walk(f.Body, func(s ir.Stmt) {
		_, is := s.(*ir.Gemm)
		has = has || is
	})
	if !has {
		return nil
	}
	_, _, err := BLAS()
	var e *BLASError
	switch {
	case !errors.As(err, &e):
	case e.BadName:
		return e
	case e.NoRoom:
		note("products of matrices are computed by the leaf's own loops: " + e.Why)
	}
	return nil
}

// dstGonumGemm computes a product by package blas. The rows of a, or of b, are the columns of the
// matrix that is stored where transA, or transB, is 1.
//
//export dstGonumGemm
func dstGonumGemm(g *C.dst_gemm, transA, transB C.int) {
	switch g._type {
	case 0:
		gonumGemm[float32](g, transA != 0, transB != 0)
	case 1:
		gonumGemm[float64](g, transA != 0, transB != 0)
	case 2:
		gonumGemm[complex64](g, transA != 0, transB != 0)
	case 3:
		gonumGemm[complex128](g, transA != 0, transB != 0)
	}
}

func gonumGemm[T blas.Scalar](g *C.dst_gemm, transA, transB bool) {
	a := stored[T](g.a, g.m, g.k, g.a_row, g.a_col, transA)
	b := stored[T](g.b, g.k, g.n, g.b_row, g.b_col, transB)
	c := stored[T](g.c, g.m, g.n, g.c_row, g.c_col, false)
	blas.Gemm(transA, transB, *(*T)(g.alpha), a, b, 1, c)
}

// stored is a matrix as it is stored: row by row, or column by column where trans says so.
func stored[T blas.Scalar](p unsafe.Pointer, rows, cols, row, col C.int64_t,
	trans bool) blas.Matrix[T] {
	if trans {
		rows, cols, row = cols, rows, col
	}
	n := int(rows-1)*int(row) + int(cols)
	return blas.Matrix[T]{Rows: int(rows), Cols: int(cols), Stride: int(row),
		Data: unsafe.Slice((*T)(p), n)}
}
