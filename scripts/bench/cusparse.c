#include "cusparse.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

char gb_error[256];

#define DRIVER(X) \
    X(int, cuInit, (unsigned flags)) \
    X(int, cuDriverGetVersion, (int *version)) \
    X(int, cuDeviceGet, (int *device, int ordinal)) \
    X(int, cuDeviceGetName, (char *name, int len, int device)) \
    X(int, cuDeviceGetAttribute, (int *value, int attribute, int device)) \
    X(int, cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(int, cuCtxSetCurrent, (void *context)) \
    X(int, cuMemAlloc_v2, (gb_ptr *p, size_t bytes)) \
    X(int, cuMemFree_v2, (gb_ptr p)) \
    X(int, cuMemcpyHtoD_v2, (gb_ptr to, const void *from, size_t bytes)) \
    X(int, cuMemcpyDtoH_v2, (void *to, gb_ptr from, size_t bytes)) \
    X(int, cuMemcpyDtoDAsync_v2, (gb_ptr to, gb_ptr from, size_t bytes, void *stream)) \
    X(int, cuEventCreate, (void **event, unsigned flags)) \
    X(int, cuEventDestroy_v2, (void *event)) \
    X(int, cuEventRecord, (void *event, void *stream)) \
    X(int, cuEventSynchronize, (void *event)) \
    X(int, cuEventElapsedTime, (float *ms, void *from, void *to)) \
    X(int, cuGetErrorString, (int code, const char **text))

// Of cuSPARSE, what the first line lists must be there; preprocessing is newer than the rest.
#define SPARSE(X) \
    X(int, cusparseCreate, (void **handle)) \
    X(int, cusparseCreateCsr, (void **m, int64_t rows, int64_t cols, int64_t nnz, void *pos, void *crd, void *vals, int pos_type, int crd_type, int base, int type)) \
    X(int, cusparseCreateDnVec, (void **v, int64_t n, void *vals, int type)) \
    X(int, cusparseCreateDnMat, (void **m, int64_t rows, int64_t cols, int64_t ld, void *vals, int type, int order)) \
    X(int, cusparseDestroySpMat, (void *m)) \
    X(int, cusparseDestroyDnVec, (void *v)) \
    X(int, cusparseDestroyDnMat, (void *m)) \
    X(int, cusparseSpMV_bufferSize, (void *h, int op, const void *alpha, void *a, void *x, const void *beta, void *y, int type, int alg, size_t *bytes)) \
    X(int, cusparseSpMV, (void *h, int op, const void *alpha, void *a, void *x, const void *beta, void *y, int type, int alg, void *buffer)) \
    X(int, cusparseSpMM_bufferSize, (void *h, int opa, int opb, const void *alpha, void *a, void *b, const void *beta, void *c, int type, int alg, size_t *bytes)) \
    X(int, cusparseSpMM, (void *h, int opa, int opb, const void *alpha, void *a, void *b, const void *beta, void *c, int type, int alg, void *buffer)) \
    X(int, cusparseSDDMM_bufferSize, (void *h, int opa, int opb, const void *alpha, void *x, void *y, const void *beta, void *c, int type, int alg, size_t *bytes)) \
    X(int, cusparseSDDMM, (void *h, int opa, int opb, const void *alpha, void *x, void *y, const void *beta, void *c, int type, int alg, void *buffer))
#define NEWER(X) \
    X(int, cusparseSpMV_preprocess, (void *h, int op, const void *alpha, void *a, void *x, const void *beta, void *y, int type, int alg, void *buffer)) \
    X(int, cusparseSpMM_preprocess, (void *h, int opa, int opb, const void *alpha, void *a, void *b, const void *beta, void *c, int type, int alg, void *buffer))

#define FIELD(result, name, params) result(*name) params;
static struct {
    DRIVER(FIELD)
} cu;
static struct {
    SPARSE(FIELD) NEWER(FIELD)
} sp;

static int device;
static char device_name[256], sparse_path[512], sparse_why[1024];
static void *handle;

// Values of cuSPARSE's enumerations.
enum { REAL64 = 1, INDEX32 = 2, ROW_MAJOR = 2, COLUMN_MAJOR = 1, UNSUPPORTED = 10 };

static int fail(const char *what, int code) {
    const char *text = 0;
    if (cu.cuGetErrorString)
        cu.cuGetErrorString(code, &text);
    snprintf(gb_error, sizeof gb_error, "%s: %s (%d)", what, text ? text : "error", code);
    return 1;
}

#define CU(call) \
    do { \
        int rc_ = cu.call; \
        if (rc_) \
            return fail(#call, rc_); \
    } while (0)

static int open_driver(void) {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        lib = dlopen("/usr/local/nvidia/lib64/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        snprintf(gb_error, sizeof gb_error, "%s", dlerror());
        return 1;
    }
#define LOAD(result, name, params) \
    *(void **)&cu.name = dlsym(lib, #name); \
    if (!cu.name) { \
        snprintf(gb_error, sizeof gb_error, "the driver has no %s", #name); \
        return 1; \
    }
    DRIVER(LOAD)
#undef LOAD
    return 0;
}

static void open_sparse(const char *const *names, int n) {
    void *lib = 0;
    for (int k = 0; k < n && !lib; k++) {
        lib = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
        snprintf(sparse_path, sizeof sparse_path, "%s", names[k]);
        if (!lib && !sparse_why[0])
            snprintf(sparse_why, sizeof sparse_why, "%s", dlerror());
    }
    if (!lib)
        return;
#define LOAD(result, name, params) \
    *(void **)&sp.name = dlsym(lib, #name); \
    if (!sp.name) { \
        snprintf(sparse_why, sizeof sparse_why, "%s has no %s", sparse_path, #name); \
        return; \
    }
    SPARSE(LOAD)
#undef LOAD
#define LOAD(result, name, params) *(void **)&sp.name = dlsym(lib, #name);
    NEWER(LOAD)
#undef LOAD
    int rc = sp.cusparseCreate(&handle);
    if (rc) {
        handle = 0;
        snprintf(sparse_why, sizeof sparse_why, "cusparseCreate of %s failed (%d)", sparse_path, rc);
    }
}

int gb_open(const char *const *sparse, int names) {
    if (open_driver())
        return 1;
    void *context;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDeviceGetName(device_name, sizeof device_name, device));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    open_sparse(sparse, names);
    return 0;
}

int gb_has_sparse(void) { return handle != 0; }
const char *gb_sparse_path(void) { return sparse_path; }
const char *gb_sparse_why(void) { return sparse_why; }
const char *gb_device_name(void) { return device_name; }

int gb_attribute(int which) {
    int v = 0;
    return cu.cuDeviceGetAttribute(&v, which, device) ? 0 : v;
}

int gb_driver_version(void) {
    int v = 0;
    return cu.cuDriverGetVersion(&v) ? 0 : v;
}

int gb_alloc(gb_ptr *p, size_t bytes) {
    CU(cuMemAlloc_v2(p, bytes ? bytes : 1));
    return 0;
}

int gb_free(gb_ptr p) {
    CU(cuMemFree_v2(p));
    return 0;
}

int gb_up(gb_ptr to, const void *from, size_t bytes) {
    if (bytes)
        CU(cuMemcpyHtoD_v2(to, from, bytes));
    return 0;
}

int gb_down(void *to, gb_ptr from, size_t bytes) {
    if (bytes)
        CU(cuMemcpyDtoH_v2(to, from, bytes));
    return 0;
}

// What is timed: an operation with its operands.
typedef struct operation operation;
struct operation {
    int (*run)(operation *);
    gb_ptr to, from;
    size_t bytes;
    void *a, *x, *y, *buffer;
    int algorithm;
};

static const double one = 1, zero = 0;

// timed runs an operation n times after two more.
static int timed(operation *o, int n, float *ms) {
    void *from, *to;
    CU(cuEventCreate(&from, 0));
    CU(cuEventCreate(&to, 0));
    for (int k = -2; k < n; k++) {
        CU(cuEventRecord(from, 0));
        int rc = o->run(o);
        if (rc)
            return rc;
        CU(cuEventRecord(to, 0));
        CU(cuEventSynchronize(to));
        if (k >= 0)
            CU(cuEventElapsedTime(&ms[k], from, to));
    }
    CU(cuEventDestroy_v2(from));
    CU(cuEventDestroy_v2(to));
    return 0;
}

static int run_copy(operation *o) {
    CU(cuMemcpyDtoDAsync_v2(o->to, o->from, o->bytes, 0));
    return 0;
}

int gb_copy(gb_ptr to, gb_ptr from, size_t bytes, int n, float *ms) {
    operation o = {.run = run_copy, .to = to, .from = from, .bytes = bytes};
    return timed(&o, n, ms);
}

// sparse_error is the result of a call of cuSPARSE that failed.
static int sparse_error(const char *what, int rc) {
    if (!rc)
        return 0;
    snprintf(gb_error, sizeof gb_error, "%s of cuSPARSE failed (%d)", what, rc);
    return rc == UNSUPPORTED ? 2 : 1;
}

#define SP(call) \
    do { \
        int rc_ = sparse_error(#call, sp.call); \
        if (rc_) \
            return rc_; \
    } while (0)

static int make_csr(void **m, const gb_csr *a) {
    SP(cusparseCreateCsr(m, a->rows, a->cols, a->nnz, (void *)a->pos, (void *)a->crd, (void *)a->vals, INDEX32, INDEX32, 0, REAL64));
    return 0;
}

static int run_spmv(operation *o) {
    SP(cusparseSpMV(handle, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, o->buffer));
    return 0;
}

static int time_spmv(operation *o, int prepared, int n, float *ms) {
    size_t bytes = 0;
    gb_ptr buffer;
    SP(cusparseSpMV_bufferSize(handle, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, &bytes));
    if (gb_alloc(&buffer, bytes))
        return 1;
    o->buffer = (void *)buffer;
    int rc = 0;
    if (prepared)
        rc = sparse_error("cusparseSpMV_preprocess", sp.cusparseSpMV_preprocess(handle, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, o->buffer));
    if (!rc)
        rc = timed(o, n, ms);
    return gb_free(buffer) || rc ? (rc ? rc : 1) : 0;
}

int gb_spmv(const gb_csr *a, gb_ptr x, gb_ptr y, int algorithm, int prepared, int n, float *ms) {
    if (prepared && !sp.cusparseSpMV_preprocess)
        return 2;
    operation o = {.run = run_spmv, .algorithm = algorithm};
    if (make_csr(&o.a, a))
        return 1;
    SP(cusparseCreateDnVec(&o.x, a->cols, (void *)x, REAL64));
    SP(cusparseCreateDnVec(&o.y, a->rows, (void *)y, REAL64));
    int rc = time_spmv(&o, prepared, n, ms);
    sp.cusparseDestroySpMat(o.a);
    sp.cusparseDestroyDnVec(o.x);
    sp.cusparseDestroyDnVec(o.y);
    return rc;
}

static int run_spmm(operation *o) {
    SP(cusparseSpMM(handle, 0, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, o->buffer));
    return 0;
}

static int time_spmm(operation *o, int prepared, int n, float *ms) {
    size_t bytes = 0;
    gb_ptr buffer;
    SP(cusparseSpMM_bufferSize(handle, 0, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, &bytes));
    if (gb_alloc(&buffer, bytes))
        return 1;
    o->buffer = (void *)buffer;
    int rc = 0;
    if (prepared)
        rc = sparse_error("cusparseSpMM_preprocess", sp.cusparseSpMM_preprocess(handle, 0, 0, &one, o->a, o->x, &zero, o->y, REAL64, o->algorithm, o->buffer));
    if (!rc)
        rc = timed(o, n, ms);
    return gb_free(buffer) || rc ? (rc ? rc : 1) : 0;
}

int gb_spmm(const gb_csr *a, int64_t k, gb_ptr b, gb_ptr c, int algorithm, int prepared, int n, float *ms) {
    if (prepared && !sp.cusparseSpMM_preprocess)
        return 2;
    operation o = {.run = run_spmm, .algorithm = algorithm};
    if (make_csr(&o.a, a))
        return 1;
    SP(cusparseCreateDnMat(&o.x, a->cols, k, k, (void *)b, REAL64, ROW_MAJOR));
    SP(cusparseCreateDnMat(&o.y, a->rows, k, k, (void *)c, REAL64, ROW_MAJOR));
    int rc = time_spmm(&o, prepared, n, ms);
    sp.cusparseDestroySpMat(o.a);
    sp.cusparseDestroyDnMat(o.x);
    sp.cusparseDestroyDnMat(o.y);
    return rc;
}

static int run_sddmm(operation *o) {
    SP(cusparseSDDMM(handle, 0, 0, &one, o->x, o->y, &zero, o->a, REAL64, 0, o->buffer));
    return 0;
}

int gb_sddmm(const gb_csr *a, int64_t k, gb_ptr x, gb_ptr y, int n, float *ms) {
    operation o = {.run = run_sddmm};
    size_t bytes = 0;
    gb_ptr buffer;
    if (make_csr(&o.a, a))
        return 1;
    SP(cusparseCreateDnMat(&o.x, a->rows, k, k, (void *)x, REAL64, ROW_MAJOR));
    // The second factor is k * cols: the transpose of a row-major matrix of cols * k.
    SP(cusparseCreateDnMat(&o.y, k, a->cols, k, (void *)y, REAL64, COLUMN_MAJOR));
    SP(cusparseSDDMM_bufferSize(handle, 0, 0, &one, o.x, o.y, &zero, o.a, REAL64, 0, &bytes));
    if (gb_alloc(&buffer, bytes))
        return 1;
    o.buffer = (void *)buffer;
    int rc = timed(&o, n, ms);
    gb_free(buffer);
    sp.cusparseDestroySpMat(o.a);
    sp.cusparseDestroyDnMat(o.x);
    sp.cusparseDestroyDnMat(o.y);
    return rc;
}

typedef int gemm_call(void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, long long sa,
    const void *b, int ldb, long long sb, const void *beta, void *c, int ldc, long long sc, int batch);

static struct {
    void *handle;
    gemm_call *call;
    const void *one, *zero;
    int op, n, batch;
} blas;

// The library stores matrices by columns, so it computes the transposed product.
static int run_gemm(operation *o) {
    const long long size = (long long)blas.n * blas.n;
    int rc = blas.call(blas.handle, blas.op, blas.op, blas.n, blas.n, blas.n, blas.one, o->y, blas.n, size, o->x, blas.n, size,
        blas.zero, (void *)o->to, blas.n, size, blas.batch);
    if (rc)
        snprintf(gb_error, sizeof gb_error, "cuBLAS failed (%d)", rc);
    return rc != 0;
}

int gb_gemm(const char *path, int single, int transposed, int n, int batch, gb_ptr a, gb_ptr b, gb_ptr c, int times, float *ms) {
    static const float one_s = 1, zero_s = 0;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*create)(void **) = lib ? (int (*)(void **))dlsym(lib, "cublasCreate_v2") : 0;
    blas.call = lib ? (gemm_call *)dlsym(lib, single ? "cublasSgemmStridedBatched" : "cublasDgemmStridedBatched") : 0;
    if (!create || !blas.call) {
        snprintf(gb_error, sizeof gb_error, "%s is no cuBLAS", path);
        return 2;
    }
    if (!blas.handle && create(&blas.handle)) {
        snprintf(gb_error, sizeof gb_error, "cublasCreate failed");
        return 1;
    }
    blas.one = single ? (const void *)&one_s : &one;
    blas.zero = single ? (const void *)&zero_s : &zero;
    blas.op = transposed, blas.n = n, blas.batch = batch;
    operation o = {.run = run_gemm, .x = (void *)a, .y = (void *)b, .to = c};
    return timed(&o, times, ms);
}
