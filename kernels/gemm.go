package kernels

// #include "gemm.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/kernels/blas"
)

// BLASError reports that no BLAS library can be used. If BadName is set, a leaf with matrix
// products then fails, and the run ends with exit code 1. Otherwise leaves compute matrix products
// with their own loops.
type BLASError struct {
	Why     string
	BadName bool // DISTAFF_BLAS names a library that cannot be used
	NoRoom  bool // memory limits leave no room for a library's buffers
}

func (e *BLASError) Error() string {
	if e.BadName {
		return "the BLAS that DISTAFF_BLAS names cannot be used: " + e.Why
	}
	return e.Why
}

func (e *BLASError) ExitCode() int { return 1 }

// BLAS returns the path of the library that computes matrix products for leaves, or "gonum" for
// package blas. It first loads the library if the library is not loaded yet. config is the
// library's description of itself. If the path or the description is not known, BLAS returns the
// kind of the library in its place, for example "OpenBLAS". The error is a *BLASError.
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

// BLASSymbol returns the address of a C or Fortran function in the library of BLAS. It returns nil if
// no library is found, or the library lacks the function.
func BLASSymbol(name string) unsafe.Pointer {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.dst_blas_symbol(c)
}

// checkBLAS loads the BLAS if f has matrix products. It is called before a leaf of f is loaded. It
// returns an error if the user named a library that cannot be used. If no library can be used for
// another reason, the leaf uses its own loops, and checkBLAS returns nil. If that reason is a
// memory limit, note receives a line about it.
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
		note("matrix products use generated loops instead of a BLAS: " + e.Why)
	}
	return nil
}

// dstGonumGemm computes a product with package blas. transA is 1 if a is stored by columns, and
// transB is 1 if b is stored by columns. la, lb and lc are the leading dimensions.
//
//export dstGonumGemm
func dstGonumGemm(g *C.dst_gemm, transA, transB, la, lb, lc C.int) {
	switch g._type {
	case 0:
		gonumGemm[float32](g, transA != 0, transB != 0, la, lb, lc)
	case 1:
		gonumGemm[float64](g, transA != 0, transB != 0, la, lb, lc)
	case 2:
		gonumGemm[complex64](g, transA != 0, transB != 0, la, lb, lc)
	case 3:
		gonumGemm[complex128](g, transA != 0, transB != 0, la, lb, lc)
	}
}

func gonumGemm[T blas.Scalar](g *C.dst_gemm, transA, transB bool, la, lb, lc C.int) {
	a := stored[T](g.a, g.m, g.k, la, transA)
	b := stored[T](g.b, g.k, g.n, lb, transB)
	c := stored[T](g.c, g.m, g.n, lc, false)
	blas.Gemm(transA, transB, *(*T)(g.alpha), a, b, 1, c)
}

// stored returns the matrix at p, which has leading dimension ld, for package blas. If trans is
// set, the memory holds the matrix by columns. stored then returns the transposed matrix, because
// package blas needs matrices by rows.
func stored[T blas.Scalar](p unsafe.Pointer, rows, cols C.int64_t, ld C.int,
	trans bool) blas.Matrix[T] {
	if trans {
		rows, cols = cols, rows
	}
	n := int(rows-1)*int(ld) + int(cols)
	return blas.Matrix[T]{Rows: int(rows), Cols: int(cols), Stride: int(ld),
		Data: unsafe.Slice((*T)(p), n)}
}
