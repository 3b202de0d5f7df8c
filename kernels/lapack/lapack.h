// Calls of LAPACK's functions. f is the address of a Fortran function for double or double complex
// values. A result is the function's info. rwork is 0 for double values. See lapack.c.
#ifndef DST_LAPACK_H
#define DST_LAPACK_H

#include <stddef.h>

int dst_gesv(void *f, int n, int k, void *a, int *pivots, void *b);
int dst_getrf(void *f, int n, void *a, int *pivots);
int dst_geqrf(void *f, int m, int n, void *a, void *tau, void *work, int size);
int dst_orgqr(void *f, int m, int k, void *a, void *tau, void *work, int size);
int dst_gesdd(void *f, int m, int n, void *a, double *s, void *u, void *vt, void *work, int size,
    double *rwork, int *iwork);
int dst_syevd(void *f, int n, void *a, double *w, void *work, int size, double *rwork, int reals,
    int *iwork, int integers);
int dst_potrf(void *f, int n, void *a);

#endif
