package lapack

// #include "lapack.h"
import "C"

import (
	"sync"
	"unsafe"

	"distaff/kernels"
)

// library is the LAPACK of a BLAS library. It has the address of each routine.
type library[T number] struct {
	gesv, getrf, geqrf, orgqr, gesdd, syevd, potrf unsafe.Pointer
}

var (
	realLibrary    = sync.OnceValue(func() *library[float64] { return open[float64]("d", "or", "sy") })
	complexLibrary = sync.OnceValue(func() *library[complex128] {
		return open[complex128]("z", "un", "he")
	})
)

// found returns the LAPACK of the BLAS library, for values of type T. ok is false if there is none.
func found[T number]() (b backend[T], ok bool) {
	switch p := any(&b).(type) {
	case *backend[float64]:
		l := realLibrary()
		*p, ok = l, l != nil
	case *backend[complex128]:
		l := complexLibrary()
		*p, ok = l, l != nil
	}
	return b, ok
}

// open finds the routines. t is the letter of the type in their names, orthogonal the letters of
// routines for orthogonal matrices, and symmetric those for symmetric matrices. It returns nil if a
// routine is missing.
func open[T number](t, orthogonal, symmetric string) *library[T] {
	l := &library[T]{}
	for name, to := range map[string]*unsafe.Pointer{"gesv": &l.gesv, "getrf": &l.getrf,
		"geqrf": &l.geqrf, orthogonal + "gqr": &l.orgqr, "gesdd": &l.gesdd,
		symmetric + "evd": &l.syevd, "potrf": &l.potrf} {
		if *to = kernels.BLASSymbol(t + name + "_"); *to == nil {
			return nil
		}
	}
	return l
}

// pointer returns the address of a slice's values.
func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// ints returns n integers of C and the address of the first.
func ints(n int) ([]C.int, *C.int) {
	s := make([]C.int, max(n, 1))
	return s, &s[0]
}

// length returns the length of a work array that a routine suggests in the first value of ask.
func length[T number](ask []T) int { return int(abs(ask[0])) }

func (l *library[T]) solve(a, b matrix[T]) (matrix[T], bool) {
	ac, bc := a.byColumns(), b.byColumns()
	_, pivots := ints(a.rows)
	info := int(C.dst_gesv(l.gesv, C.int(a.rows), C.int(b.cols), pointer(ac), pivots, pointer(bc)))
	must("gesv", info)
	return fromColumns(b.rows, b.cols, bc), info == 0
}

func (l *library[T]) lu(a matrix[T]) (swaps int) {
	list, pivots := ints(a.rows)
	// The determinant of the transpose is the same.
	must("getrf", int(C.dst_getrf(l.getrf, C.int(a.rows), pointer(a.data), pivots)))
	for k, p := range list {
		if int(p) != k+1 {
			swaps++
		}
	}
	return swaps
}

func (l *library[T]) qr(a matrix[T]) (q, r matrix[T]) {
	m, n, k := a.rows, a.cols, min(a.rows, a.cols)
	list, tau := a.byColumns(), make([]T, k)
	withSpace(func(work []T, size int) {
		must("geqrf", int(C.dst_geqrf(l.geqrf, C.int(m), C.int(n), pointer(list), pointer(tau),
			pointer(work), C.int(size))))
	})
	r = fromColumns(m, n, list).head(k).triangle(false)
	withSpace(func(work []T, size int) {
		must("orgqr", int(C.dst_orgqr(l.orgqr, C.int(m), C.int(k), pointer(list), pointer(tau),
			pointer(work), C.int(size))))
	})
	return fromColumns(m, k, list[:m*k]), r
}

// withSpace calls f with a work array of the length that f itself suggests.
func withSpace[T number](f func(work []T, size int)) {
	ask := make([]T, 1)
	f(ask, -1)
	n := max(length(ask), 1)
	f(make([]T, n), n)
}

// realSpace returns an array of n real numbers for a routine of complex matrices. If T is real, the
// routine has no such array, and realSpace returns nil.
func realSpace[T number](n int) *C.double {
	var x T
	if _, ok := any(x).(complex128); !ok {
		return nil
	}
	s := make([]float64, max(n, 1))
	return (*C.double)(pointer(s))
}

func (l *library[T]) svd(a matrix[T]) (u matrix[T], s []float64, vh matrix[T], ok bool) {
	m, n, k := a.rows, a.cols, min(a.rows, a.cols)
	list, uc, vc := a.byColumns(), make([]T, m*k), make([]T, k*n)
	s = make([]float64, k)
	_, integers := ints(8 * k)
	reals := realSpace[T](max(5*k*k+7*k, 2*max(m, n)*k+2*k*k+k))
	info := 0
	withSpace(func(work []T, size int) {
		info = int(C.dst_gesdd(l.gesdd, C.int(m), C.int(n), pointer(list), (*C.double)(pointer(s)),
			pointer(uc), pointer(vc), pointer(work), C.int(size), reals, integers))
		must("gesdd", info)
	})
	return fromColumns(m, k, uc), s, fromColumns(k, n, vc), info == 0
}

func (l *library[T]) eigh(a matrix[T]) (w []float64, v matrix[T], ok bool) {
	n := a.rows
	list := a.byColumns()
	w = make([]float64, n)
	count := 3 + 5*n
	_, integers := ints(count)
	realCount := 1 + 5*n + 2*n*n
	reals := realSpace[T](realCount)
	info := 0
	withSpace(func(work []T, size int) {
		info = int(C.dst_syevd(l.syevd, C.int(n), pointer(list), (*C.double)(pointer(w)),
			pointer(work), C.int(size), reals, C.int(realCount), integers, C.int(count)))
		must("syevd", info)
	})
	return w, fromColumns(n, n, list), info == 0
}

func (l *library[T]) cholesky(a matrix[T]) (matrix[T], bool) {
	list := a.byColumns()
	info := int(C.dst_potrf(l.potrf, C.int(a.rows), pointer(list)))
	must("potrf", info)
	return fromColumns(a.rows, a.cols, list).triangle(true), info == 0
}
