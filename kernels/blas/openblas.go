//go:build openblas

package blas

/*
#cgo pkg-config: openblas
#include <cblas.h>
*/
import "C"

import "unsafe"

// trans returns CBLAS's constant for a transposed or an untransposed matrix. cgo represents that C
// enumeration as an integer.
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
		C.cblas_sgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, C.float(al), (*C.float)(pa), la,
			(*C.float)(pb), lb, C.float(any(beta).(float32)), (*C.float)(pc), lc)
	case float64:
		C.cblas_dgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, C.double(al), (*C.double)(pa), la,
			(*C.double)(pb), lb, C.double(any(beta).(float64)), (*C.double)(pc), lc)
	case complex64:
		C.cblas_cgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, unsafe.Pointer(&al), pa, la, pb, lb,
			unsafe.Pointer(&beta), pc, lc)
	case complex128:
		C.cblas_zgemm(C.CblasRowMajor, ta, tb, cm, cn, ck, unsafe.Pointer(&al), pa, la, pb, lb,
			unsafe.Pointer(&beta), pc, lc)
	}
}
