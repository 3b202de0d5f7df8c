// cuBLAS and cuSPARSE, opened at run time: the functions that are used, with the names and
// signatures of their documented interfaces.
#ifndef DST_CUDA_PRODUCTS_H
#define DST_CUDA_PRODUCTS_H

#include "driver.h"

#define DST_GEMM                                                                                  \
    DST_CU(dst_cu_handle h, int op_a, int op_b, int m, int n, int k, const void *alpha,           \
        const void *a, int lda, const void *b,                                                    \
           int ldb, const void *beta, void *c, int ldc)

#define DST_GEMMS                                                                                 \
    DST_CU(dst_cu_handle h, int op_a, int op_b, int m, int n, int k, const void *alpha,           \
        const void *a, int lda, long long stride_a, const void *b, int ldb, long long stride_b,   \
        const void *beta, void *c, int ldc, long long stride_c, int batch)

// For each function: its name here, its symbol, and its parameters.
#define DST_CUBLAS_CALLS(X)                                                 \
    X(create, "cublasCreate_v2", DST_CU(dst_cu_handle *h))                  \
    X(stream, "cublasSetStream_v2", DST_CU(dst_cu_handle h, dst_cu_handle s)) \
    X(mode, "cublasSetPointerMode_v2", DST_CU(dst_cu_handle h, int mode))   \
    X(sgemm, "cublasSgemm_v2", DST_GEMM)                                    \
    X(dgemm, "cublasDgemm_v2", DST_GEMM)                                    \
    X(cgemm, "cublasCgemm_v2", DST_GEMM)                                    \
    X(zgemm, "cublasZgemm_v2", DST_GEMM)                                    \
    X(sgemms, "cublasSgemmStridedBatched", DST_GEMMS)                       \
    X(dgemms, "cublasDgemmStridedBatched", DST_GEMMS)                       \
    X(cgemms, "cublasCgemmStridedBatched", DST_GEMMS)                       \
    X(zgemms, "cublasZgemmStridedBatched", DST_GEMMS)

#define DST_SPMV                                                                                  \
    dst_cu_handle h, int op, const void *alpha, dst_cu_handle a, dst_cu_handle x,                 \
        const void *beta, dst_cu_handle y, int type,                                              \
        int algorithm
#define DST_SPMM                                                                                  \
    dst_cu_handle h, int op_a, int op_b, const void *alpha, dst_cu_handle a, dst_cu_handle b,     \
        const void *beta, dst_cu_handle c,                                                        \
        int type, int algorithm

#define DST_CUSPARSE_CALLS(X)                                                                     \
    X(create, "cusparseCreate", DST_CU(dst_cu_handle *h))                                         \
    X(stream, "cusparseSetStream", DST_CU(dst_cu_handle h, dst_cu_handle s))                      \
    X(mode, "cusparseSetPointerMode", DST_CU(dst_cu_handle h, int mode))                          \
    X(csr, "cusparseCreateCsr",                                                                   \
      DST_CU(dst_cu_handle *m, int64_t rows, int64_t cols, int64_t nnz, void *pos, void *crd,     \
          void *vals, int pos_type,                                                               \
             int crd_type, int base, int type))                                                   \
    X(drop_csr, "cusparseDestroySpMat", DST_CU(dst_cu_handle m))                                  \
    X(vector, "cusparseCreateDnVec", DST_CU(dst_cu_handle *v, int64_t n, void *vals, int type))   \
    X(drop_vector, "cusparseDestroyDnVec", DST_CU(dst_cu_handle v))                               \
    X(matrix, "cusparseCreateDnMat",                                                              \
      DST_CU(dst_cu_handle *m, int64_t rows, int64_t cols, int64_t ld, void *vals, int type,      \
          int order))                                                                             \
    X(drop_matrix, "cusparseDestroyDnMat", DST_CU(dst_cu_handle m))                               \
    X(spmv_room, "cusparseSpMV_bufferSize", DST_CU(DST_SPMV, size_t *bytes))                      \
    X(spmv, "cusparseSpMV", DST_CU(DST_SPMV, void *buffer))                                       \
    X(spmm_room, "cusparseSpMM_bufferSize", DST_CU(DST_SPMM, size_t *bytes))                      \
    X(spmm, "cusparseSpMM", DST_CU(DST_SPMM, void *buffer))

#define DST_X(name, symbol, params) int (*name)(params);
typedef struct {
    DST_CUBLAS_CALLS(DST_X)
} dst_cublas;
typedef struct {
    DST_CUSPARSE_CALLS(DST_X)
} dst_cusparse;
#undef DST_X

// These functions open a library; see dst_cuda_open for the results.
dst_cublas *dst_cublas_open(const char *path, char **why, const char **missing);
dst_cusparse *dst_cusparse_open(const char *path, char **why, const char **missing);

// dst_cublas_start makes a handle that works in the given stream and reads scalars from host
// memory.
int dst_cublas_start(const dst_cublas *lib, dst_cu_handle stream, dst_cu_handle *h);
int dst_cusparse_start(const dst_cusparse *lib, dst_cu_handle stream, dst_cu_handle *h);

// dst_product is a batch of products of dense matrices stored by columns, C += alpha op(A) op(B).
// type is 's', 'd', 'c' or 'z'. The strides are the distances of the matrices of the batch.
typedef struct {
    int type, op_a, op_b, m, n, k, lda, ldb, ldc, batch;
    long long stride_a, stride_b, stride_c;
    dst_cu_ptr a, b, c;
    uint64_t alpha[2];
} dst_product;

int dst_cublas_product(const dst_cublas *lib, dst_cu_handle h, const dst_product *p);

// dst_sparse_product is C += alpha A op(B) for a sparse A of m rows and k columns with nnz entries.
// Its positions and coordinates have 4 or 8 bytes. B and C are vectors (vector), or matrices stored
// by rows (by_rows) or by columns.
typedef struct {
    int type, width, vector, by_rows, op_b;
    int64_t m, n, k, nnz, ldb, ldc;
    dst_cu_ptr pos, crd, vals, b, c;
    uint64_t alpha[2];
    dst_cu_handle descriptors[3];
} dst_sparse_product;

// dst_cusparse_scratch describes a product to the library and returns the bytes of scratch memory
// that it needs. dst_cusparse_product starts the product, and dst_cusparse_done frees the
// description.
int dst_cusparse_scratch(const dst_cusparse *lib, dst_cu_handle h, dst_sparse_product *p,
    size_t *bytes);
int dst_cusparse_product(const dst_cusparse *lib, dst_cu_handle h, const dst_sparse_product *p,
    dst_cu_ptr scratch);
void dst_cusparse_done(const dst_cusparse *lib, dst_sparse_product *p);

#endif
