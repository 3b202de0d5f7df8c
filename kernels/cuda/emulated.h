// Calls of kernels that were compiled for the CPU.
#ifndef DST_CUDA_EMULATED_H
#define DST_CUDA_EMULATED_H

#include <stdint.h>

static inline int dst_emulated_launch(void *fn, int64_t grid, int n, uint64_t *slots) {
    void *params[n + 1];
    for (int k = 0; k < n; k++)
        params[k] = slots + 2 * k;
    return ((int (*)(long long, void **))fn)(grid, params);
}

static inline const char *dst_emulated_why(void *fn) { return ((const char *(*)(void))fn)(); }

#endif
