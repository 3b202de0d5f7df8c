// A stand-in for cuBLAS: the functions that the backend calls, over the memory of the stand-in for
// the driver. It multiplies as cuBLAS's documentation says, refuses what the documentation forbids,
// and appends its calls to the file that FAKE_CALLS names.
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICE ((uint64_t)0x1000 << 48)

typedef struct {
    void *stream;
    int mode;
} handle;

enum { OK, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID = 7 };

static int failed(void) {
    const char *fail = getenv("FAKE_CUBLAS_FAIL");
    return fail ? atoi(fail) : 0;
}

int cublasCreate_v2(handle **h) {
    if (failed() == ALLOC_FAILED)
        return ALLOC_FAILED;
    *h = calloc(1, sizeof **h);
    (*h)->mode = -1;
    return OK;
}

int cublasSetStream_v2(handle *h, void *s) { h->stream = s; return OK; }
int cublasSetPointerMode_v2(handle *h, int mode) { h->mode = mode; return OK; }

// settle finishes the work in the handle's stream. The stand-in for the driver runs work only when
// the host waits for it.
static void settle(handle *h) {
    void *driver = dlopen(getenv("FAKE_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    int (*sync)(void *) = driver ? (int (*)(void *))dlsym(driver, "cuStreamSynchronize") : 0;
    if (!sync || sync(h->stream))
        abort();
}

static const void *at(const void *p, int64_t i, size_t size) {
    if ((uint64_t)p < DEVICE)
        abort();
    return (const char *)((uint64_t)p - DEVICE) + i * (int64_t)size;
}

#define GEMMS(symbol, letter, one, type)                                                          \
    int symbol(handle *h, int op_a, int op_b, int m, int n, int k, const type *alpha,             \
        const type *a, int lda, long long sa, const type *b, int ldb, long long sb,               \
        const type *beta, type *c, int ldc, long long sc, int batch) {                            \
        FILE *f = fopen(getenv("FAKE_CALLS"), "a");                                               \
        fprintf(f, "%cgemms of %d: ", letter, batch);                                              \
        fclose(f);                                                                                \
        int rc = OK;                                                                              \
        for (int64_t i = 0; i < batch && !rc; i++)                                                \
            rc = one(h, op_a, op_b, m, n, k, alpha, a + i * sa, lda, b + i * sb, ldb, beta,       \
                c + i * sc, ldc);                                                                 \
        return rc;                                                                                \
    }

#define GEMM(symbol, letter, type)                                                                \
    int symbol(handle *h, int op_a, int op_b, int m, int n, int k, const type *alpha,             \
        const type *a, int lda, const type *b,                                                    \
               int ldb, const type *beta, type *c, int ldc) {                                     \
        if (!h || !h->stream || h->mode != 0)                                                     \
            return NOT_INITIALIZED;                                                               \
        if (failed())                                                                             \
            return failed();                                                                      \
        if (m < 0 || n < 0 || k < 0 || lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m || \
            op_a < 0 || op_a > 1 || op_b < 0 || op_b > 1)                                         \
            return INVALID;                                                                       \
        settle(h);                                                                                \
        FILE *f = fopen(getenv("FAKE_CALLS"), "a");                                               \
        fprintf(f, "%cgemm %c%c %d %d %d ld %d %d %d\n", letter, "NT"[op_a], "NT"[op_b], m, n,    \
            k, lda, ldb, ldc);                                                                    \
        fclose(f);                                                                                \
        for (int64_t j = 0; j < n; j++)                                                           \
            for (int64_t i = 0; i < m; i++) {                                                     \
                type sum = 0, *to = (type *)at(c, i + j * ldc, sizeof(type));                     \
                for (int64_t l = 0; l < k; l++)                                                   \
                    sum += *(const type *)at(a, op_a ? l + i * lda : i + l * lda, sizeof(type)) * \
                           *(const type *)at(b, op_b ? j + l * ldb : l + j * ldb, sizeof(type));  \
                *to = *alpha * sum + *beta * *to;                                                 \
            }                                                                                     \
        return OK;                                                                                \
    }

GEMM(cublasSgemm_v2, 's', float)
GEMM(cublasDgemm_v2, 'd', double)
GEMM(cublasCgemm_v2, 'c', float complex)
GEMM(cublasZgemm_v2, 'z', double complex)

GEMMS(cublasSgemmStridedBatched, 's', cublasSgemm_v2, float)
GEMMS(cublasDgemmStridedBatched, 'd', cublasDgemm_v2, double)
GEMMS(cublasCgemmStridedBatched, 'c', cublasCgemm_v2, float complex)
GEMMS(cublasZgemmStridedBatched, 'z', cublasZgemm_v2, double complex)
