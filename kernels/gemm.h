// The BLAS that leaves have products of matrices computed by. See gemm.c.
#ifndef DST_GEMM_H
#define DST_GEMM_H

#include "dst.h"

// dst_blas_gemm is a dst_env's gemm. The first call loads the library.
int32_t dst_blas_gemm(dst_env *env, const dst_gemm *g);

// dst_blas_found loads the library, and returns its path, or 0. *why is then why there is none,
// *state one of DST_BLAS_..., and *config what the library says of itself, or 0.
const char *dst_blas_found(const char **config, const char **why, int *state);

// Why there is none: there is none to be found, or DISTAFF_BLAS is "none"; DISTAFF_BLAS names what
// cannot be used; memory is limited.
enum { DST_BLAS_NONE, DST_BLAS_BAD_NAME, DST_BLAS_NO_ROOM };

#endif
