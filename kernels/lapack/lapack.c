// Calls of LAPACK's Fortran functions by address. Matrices are stored by columns, without gaps. The
// last arguments of a call are the lengths of its character arguments.
#include "lapack.h"

typedef const int *in;

typedef void gesv_fn(in, in, void *, in, int *, void *, in, int *);
typedef void getrf_fn(in, in, void *, in, int *, int *);
typedef void geqrf_fn(in, in, void *, in, void *, void *, in, int *);
typedef void orgqr_fn(in, in, in, void *, in, void *, void *, in, int *);
typedef void gesdd_fn(const char *, in, in, void *, in, double *, void *, in, void *, in, void *,
    in, int *, int *, size_t);
typedef void zgesdd_fn(const char *, in, in, void *, in, double *, void *, in, void *, in, void *,
    in, double *, int *, int *, size_t);
typedef void syevd_fn(const char *, const char *, in, void *, in, double *, void *, in, int *, in,
    int *, size_t, size_t);
typedef void heevd_fn(const char *, const char *, in, void *, in, double *, void *, in, double *,
    in, int *, in, int *, size_t, size_t);
typedef void potrf_fn(const char *, in, void *, in, int *, size_t);

int dst_gesv(void *f, int n, int k, void *a, int *pivots, void *b) {
    int info = 0;
    ((gesv_fn *)f)(&n, &k, a, &n, pivots, b, &n, &info);
    return info;
}

int dst_getrf(void *f, int n, void *a, int *pivots) {
    int info = 0;
    ((getrf_fn *)f)(&n, &n, a, &n, pivots, &info);
    return info;
}

int dst_geqrf(void *f, int m, int n, void *a, void *tau, void *work, int size) {
    int info = 0;
    ((geqrf_fn *)f)(&m, &n, a, &m, tau, work, &size, &info);
    return info;
}

int dst_orgqr(void *f, int m, int k, void *a, void *tau, void *work, int size) {
    int info = 0;
    ((orgqr_fn *)f)(&m, &k, &k, a, &m, tau, work, &size, &info);
    return info;
}

int dst_gesdd(void *f, int m, int n, void *a, double *s, void *u, void *vt, void *work, int size,
    double *rwork, int *iwork) {
    int info = 0, k = m < n ? m : n;
    if (rwork)
        ((zgesdd_fn *)f)("S", &m, &n, a, &m, s, u, &m, vt, &k, work, &size, rwork, iwork, &info, 1);
    else
        ((gesdd_fn *)f)("S", &m, &n, a, &m, s, u, &m, vt, &k, work, &size, iwork, &info, 1);
    return info;
}

int dst_syevd(void *f, int n, void *a, double *w, void *work, int size, double *rwork, int reals,
    int *iwork, int integers) {
    int info = 0;
    if (rwork)
        ((heevd_fn *)f)("V", "L", &n, a, &n, w, work, &size, rwork, &reals, iwork, &integers, &info,
            1, 1);
    else
        ((syevd_fn *)f)("V", "L", &n, a, &n, w, work, &size, iwork, &integers, &info, 1, 1);
    return info;
}

int dst_potrf(void *f, int n, void *a) {
    int info = 0;
    ((potrf_fn *)f)("L", &n, a, &n, &info, 1);
    return info;
}
