package kernels

// #include "gemm.h"
import "C"

import (
	"errors"
	"unsafe"

	"distaff/kernels/blas"
)

// BLAS is the path of the library that leaves have products of matrices computed by, with what it says of
// itself. The error says why there is none: leaves then compute products by loops of their own.
func BLAS() (path, config string, err error) {
	var about, why *C.char
	found := C.dst_blas_found(&about, &why)
	if found == nil {
		return "", "", errors.New(C.GoString(why))
	}
	if about != nil {
		config = C.GoString(about)
	}
	return C.GoString(found), config, nil
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
func stored[T blas.Scalar](p unsafe.Pointer, rows, cols, row, col C.int64_t, trans bool) blas.Matrix[T] {
	if trans {
		rows, cols, row = cols, rows, col
	}
	n := int(rows-1)*int(row) + int(cols)
	return blas.Matrix[T]{Rows: int(rows), Cols: int(cols), Stride: int(row), Data: unsafe.Slice((*T)(p), n)}
}
