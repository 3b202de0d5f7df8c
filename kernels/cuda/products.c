#include "products.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// open_all opens a library and looks up n of its functions. It returns their addresses one after
// another in memory that it allocates.
static void *open_all(const char *path, int n, const char *const *symbols, char **why,
    const char **missing) {
    *why = 0;
    *missing = 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        *why = strdup(text ? text : "dlopen failed");
        return 0;
    }
    void **list = calloc(n, sizeof *list);
    if (!list) {
        *why = strdup("no memory");
        dlclose(handle);
        return 0;
    }
    for (int k = 0; k < n; k++)
        if (!(list[k] = dlsym(handle, symbols[k]))) {
            *missing = symbols[k];
            free(list);
            dlclose(handle);
            return 0;
        }
    return list; // the library stays: it has threads and handlers of its own
}

#define DST_X(name, symbol, params) symbol,
static const char *const cublas_symbols[] = {DST_CUBLAS_CALLS(DST_X)};
static const char *const cusparse_symbols[] = {DST_CUSPARSE_CALLS(DST_X)};
#undef DST_X

dst_cublas *dst_cublas_open(const char *path, char **why, const char **missing) {
    return open_all(path, sizeof(dst_cublas) / sizeof(void *), cublas_symbols, why, missing);
}

dst_cusparse *dst_cusparse_open(const char *path, char **why, const char **missing) {
    return open_all(path, sizeof(dst_cusparse) / sizeof(void *), cusparse_symbols, why, missing);
}

enum { POINTERS_OF_HOST = 0, INDEX_32 = 2, INDEX_64 = 3, BY_COLUMNS = 1, BY_ROWS = 2,
    DEFAULT_ALGORITHM = 0 };

int dst_cublas_start(const dst_cublas *lib, dst_cu_handle stream, dst_cu_handle *h) {
    int rc = lib->create(h);
    if (!rc)
        rc = lib->stream(*h, stream);
    return rc ? rc : lib->mode(*h, POINTERS_OF_HOST);
}

int dst_cusparse_start(const dst_cusparse *lib, dst_cu_handle stream, dst_cu_handle *h) {
    int rc = lib->create(h);
    if (!rc)
        rc = lib->stream(*h, stream);
    return rc ? rc : lib->mode(*h, POINTERS_OF_HOST);
}

static const float one_s[2] = {1, 0};
static const double one_d[2] = {1, 0};

static const void *one(int type) { return type == 's' ||
    type == 'c' ? (const void *)one_s : one_d; }

// data_type returns the cudaDataType of a type letter.
static int data_type(int type) { return type == 's' ? 0 : type == 'd' ? 1 : type == 'c' ? 4 : 5; }

int dst_cublas_product(const dst_cublas *lib, dst_cu_handle h, const dst_product *p) {
    if (p->batch > 1) {
        int (*f)(DST_GEMMS) = p->type == 's' ? lib->sgemms : p->type == 'd' ? lib->dgemms
            : p->type == 'c' ? lib->cgemms : lib->zgemms;
        return f(h, p->op_a, p->op_b, p->m, p->n, p->k, p->alpha, (void *)p->a, p->lda, p->stride_a,
            (void *)p->b, p->ldb, p->stride_b, one(p->type), (void *)p->c, p->ldc, p->stride_c,
            p->batch);
    }
    int (*f)(DST_GEMM) = p->type == 's' ? lib->sgemm : p->type == 'd' ? lib->dgemm
        : p->type == 'c' ? lib->cgemm : lib->zgemm;
    return f(h, p->op_a, p->op_b, p->m, p->n, p->k, p->alpha, (void *)p->a, p->lda, (void *)p->b,
        p->ldb, one(p->type), (void *)p->c, p->ldc);
}

int dst_cusparse_scratch(const dst_cusparse *lib, dst_cu_handle h, dst_sparse_product *p,
    size_t *bytes) {
    const int type = data_type(p->type), index = p->width == 4 ? INDEX_32 : INDEX_64;
    const int order = p->by_rows ? BY_ROWS : BY_COLUMNS;
    dst_cu_handle *d = p->descriptors;
    d[0] = d[1] = d[2] = 0;
    int rc = lib->csr(&d[0], p->m, p->k, p->nnz, (void *)p->pos, (void *)p->crd, (void *)p->vals,
        index, index, 0, type);
    if (p->vector) {
        rc = rc ? rc : lib->vector(&d[1], p->k, (void *)p->b, type);
        rc = rc ? rc : lib->vector(&d[2], p->m, (void *)p->c, type);
        return rc ? rc : lib->spmv_room(h, 0, p->alpha, d[0], d[1], one(p->type), d[2], type,
            DEFAULT_ALGORITHM, bytes);
    }
    const int64_t rows = p->op_b ? p->n : p->k, cols = p->op_b ? p->k : p->n;
    rc = rc ? rc : lib->matrix(&d[1], rows, cols, p->ldb, (void *)p->b, type, order);
    rc = rc ? rc : lib->matrix(&d[2], p->m, p->n, p->ldc, (void *)p->c, type, order);
    return rc ? rc : lib->spmm_room(h, 0, p->op_b, p->alpha, d[0], d[1], one(p->type), d[2], type,
        DEFAULT_ALGORITHM, bytes);
}

int dst_cusparse_product(const dst_cusparse *lib, dst_cu_handle h, const dst_sparse_product *p,
    dst_cu_ptr scratch) {
    const dst_cu_handle *d = p->descriptors;
    const int type = data_type(p->type);
    if (p->vector)
        return lib->spmv(h, 0, p->alpha, d[0], d[1], one(p->type), d[2], type, DEFAULT_ALGORITHM,
            (void *)scratch);
    return lib->spmm(h, 0, p->op_b, p->alpha, d[0], d[1], one(p->type), d[2], type,
        DEFAULT_ALGORITHM, (void *)scratch);
}

void dst_cusparse_done(const dst_cusparse *lib, dst_sparse_product *p) {
    if (p->descriptors[0])
        lib->drop_csr(p->descriptors[0]);
    for (int k = 1; k < 3; k++)
        if (p->descriptors[k] && p->vector)
            lib->drop_vector(p->descriptors[k]);
        else if (p->descriptors[k])
            lib->drop_matrix(p->descriptors[k]);
}
