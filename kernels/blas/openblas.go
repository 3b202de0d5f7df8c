//go:build openblas

package blas

/*
#cgo pkg-config: openblas
#include <cblas.h>
*/
import "C"

import "unsafe"

// Name says which BLAS this is.
const Name = "OpenBLAS"

// SetThreads sets the threads that a call uses.
func SetThreads(n int) { C.openblas_set_num_threads(C.int(n)) }

// trans is a CBLAS_TRANSPOSE, which cgo takes as its integer type.
func trans(t bool) uint32 {
	if t {
		return C.CblasTrans
	}
	return C.CblasNoTrans
}

func ptr[T Scalar](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func gemm[T Scalar](tA, tB bool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	ta, tb := trans(tA), trans(tB)
	cm, cn, ck := C.blasint(m), C.blasint(n), C.blasint(k)
	la, lb, lc := C.blasint(a.Stride), C.blasint(b.Stride), C.blasint(c.Stride)
	pa, pb, pc := ptr(a.Data), ptr(b.Data), ptr(c.Data)
	switch al := any(alpha).(type) {
	case float32:
		C.cblas_sgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, C.float(al), (*C.float)(pa), la, (*C.float)(pb), lb, C.float(any(beta).(float32)), (*C.float)(pc), lc)
	case float64:
		C.cblas_dgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, C.double(al), (*C.double)(pa), la, (*C.double)(pb), lb, C.double(any(beta).(float64)), (*C.double)(pc), lc)
	case complex64:
		C.cblas_cgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, unsafe.Pointer(&al), pa, la, pb, lb, unsafe.Pointer(&beta), pc, lc)
	case complex128:
		C.cblas_zgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, unsafe.Pointer(&al), pa, la, pb, lb, unsafe.Pointer(&beta), pc, lc)
	}
}

func gemv[T Scalar](tA bool, alpha T, a Matrix[T], x Vector[T], beta T, y Vector[T]) {
	t, m, n := trans(tA), C.blasint(a.Rows), C.blasint(a.Cols)
	la, ix, iy := C.blasint(a.Stride), C.blasint(x.Inc), C.blasint(y.Inc)
	pa, px, py := ptr(a.Data), ptr(x.Data), ptr(y.Data)
	switch al := any(alpha).(type) {
	case float32:
		C.cblas_sgemv(C.CblasRowMajor, t, m, n, C.float(al), (*C.float)(pa), la, (*C.float)(px), ix, C.float(any(beta).(float32)), (*C.float)(py), iy)
	case float64:
		C.cblas_dgemv(C.CblasRowMajor, t, m, n, C.double(al), (*C.double)(pa), la, (*C.double)(px), ix, C.double(any(beta).(float64)), (*C.double)(py), iy)
	case complex64:
		C.cblas_cgemv(C.CblasRowMajor, t, m, n, unsafe.Pointer(&al), pa, la, px, ix, unsafe.Pointer(&beta), py, iy)
	case complex128:
		C.cblas_zgemv(C.CblasRowMajor, t, m, n, unsafe.Pointer(&al), pa, la, px, ix, unsafe.Pointer(&beta), py, iy)
	}
}

func dot[T Scalar](x, y Vector[T]) (r T) {
	n, ix, iy := C.blasint(x.N), C.blasint(x.Inc), C.blasint(y.Inc)
	px, py := ptr(x.Data), ptr(y.Data)
	switch r := any(&r).(type) {
	case *float32:
		*r = float32(C.cblas_sdot(n, (*C.float)(px), ix, (*C.float)(py), iy))
	case *float64:
		*r = float64(C.cblas_ddot(n, (*C.double)(px), ix, (*C.double)(py), iy))
	case *complex64:
		C.cblas_cdotu_sub(n, px, ix, py, iy, unsafe.Pointer(r))
	case *complex128:
		C.cblas_zdotu_sub(n, px, ix, py, iy, unsafe.Pointer(r))
	}
	return r
}
