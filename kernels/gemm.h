// The BLAS that computes matrix products for leaves. See gemm.c.
#ifndef DST_GEMM_H
#define DST_GEMM_H

#include "dst.h"

// dst_blas_gemm is the gemm function of a dst_env. The first call loads the library.
int32_t dst_blas_gemm(dst_env *env, const dst_gemm *g);

// dst_blas_found loads the library and returns its path. *config is the library's description of
// itself, or 0. If there is no library, the result is 0, *why is the reason, and *state is one of
// DST_BLAS_....
const char *dst_blas_found(const char **config, const char **why, int *state);

// dst_blas_symbol returns a function of the library, or 0 if the library lacks it or there is no
// library. It loads the library first.
void *dst_blas_symbol(const char *name);

// The reasons: no library was found, or DISTAFF_BLAS is "none"; DISTAFF_BLAS names a library that
// cannot be used; memory is limited.
enum { DST_BLAS_NONE, DST_BLAS_BAD_NAME, DST_BLAS_NO_ROOM };

#endif
