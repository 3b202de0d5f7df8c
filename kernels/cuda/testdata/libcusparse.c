// A stand-in for cuSPARSE: the functions that the backend calls, over the memory of the stand-in
// for the driver. It multiplies as cuSPARSE's documentation says, refuses what the documentation
// forbids, and appends its calls to the file that FAKE_CALLS names.
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE ((uint64_t)0x1000 << 48)

typedef struct {
    void *stream;
    int mode;
} handle;

// A sparse matrix, a dense matrix, or a vector, which has one column.
typedef struct {
    int kind, index, type, order;
    int64_t rows, cols, nnz, ld;
    const void *pos, *crd, *vals;
} object;

enum { OK, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID = 3, NOT_SUPPORTED = 10 };
enum { CSR, VECTOR, MATRIX };
enum { ROOM = 192 };

static int failed(void) {
    const char *fail = getenv("FAKE_CUSPARSE_FAIL");
    return fail ? atoi(fail) : 0;
}

int cusparseCreate(handle **h) {
    *h = calloc(1, sizeof **h);
    (*h)->mode = -1;
    return OK;
}

int cusparseSetStream(handle *h, void *s) { h->stream = s; return OK; }
int cusparseSetPointerMode(handle *h, int mode) { h->mode = mode; return OK; }

static void *host(const void *p) {
    if ((uint64_t)p < DEVICE)
        abort();
    return (void *)((uint64_t)p - DEVICE);
}

static object *made(int kind, int type, int64_t rows, int64_t cols, const void *vals) {
    object *o = calloc(1, sizeof *o);
    *o = (object){.kind = kind, .type = type, .rows = rows, .cols = cols, .vals = host(vals)};
    return o;
}

int cusparseCreateCsr(object **m, int64_t rows, int64_t cols, int64_t nnz, void *pos, void *crd,
    void *vals, int pos_type, int crd_type, int base, int type) {
    if (rows < 0 || cols < 0 || nnz < 0 || pos_type != crd_type ||
        (pos_type != 2 && pos_type != 3) || base)
        return INVALID;
    *m = made(CSR, type, rows, cols, vals);
    (*m)->nnz = nnz, (*m)->pos = host(pos), (*m)->crd = host(crd), (*m)->index = pos_type;
    return OK;
}

int cusparseCreateDnVec(object **v, int64_t n, void *vals, int type) {
    *v = made(VECTOR, type, n, 1, vals);
    (*v)->ld = 1, (*v)->order = 2;
    return OK;
}

int cusparseCreateDnMat(object **m, int64_t rows, int64_t cols, int64_t ld, void *vals, int type,
    int order) {
    if ((order != 1 && order != 2) || ld < (order == 1 ? rows : cols))
        return INVALID;
    *m = made(MATRIX, type, rows, cols, vals);
    (*m)->ld = ld, (*m)->order = order;
    return OK;
}

static int drop(object *o, int kind) {
    if (o->kind != kind)
        abort();
    memset(o, 0xff, sizeof *o);
    free(o);
    return OK;
}

int cusparseDestroySpMat(object *o) { return drop(o, CSR); }
int cusparseDestroyDnVec(object *o) { return drop(o, VECTOR); }
int cusparseDestroyDnMat(object *o) { return drop(o, MATRIX); }

static int64_t number(const void *list, int index,
    int64_t k) { return index == 2 ? ((const int32_t *)list)[k] : ((const int64_t *)list)[k]; }

static double complex value(const void *list, int type, int64_t k) {
    return type == 0 ? ((const float *)list)[k] : type == 1 ? (
        (const double *)list)[k] : type == 4 ? ((const float complex *)list)[k] : (
        (const double complex *)list)[k];
}

static void put(void *list, int type, int64_t k, double complex x) {
    if (type == 0)
        ((float *)list)[k] = (float)creal(x);
    if (type == 1)
        ((double *)list)[k] = creal(x);
    if (type == 4)
        ((float complex *)list)[k] = (float complex)x;
    if (type == 5)
        ((double complex *)list)[k] = x;
}

static int64_t place(const object *m, int64_t i,
    int64_t j) { return m->order == 2 ? i * m->ld + j : i + j * m->ld; }

// settle finishes the work in the handle's stream. The stand-in for the driver runs work only when
// the host waits for it.
static void settle(handle *h) {
    void *driver = dlopen(getenv("FAKE_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    int (*sync)(void *) = driver ? (int (*)(void *))dlsym(driver, "cuStreamSynchronize") : 0;
    if (!sync || sync(h->stream))
        abort();
}

static int check(handle *h, int op_a, int op_b, const object *a, const object *b, const object *c,
    int type, int algorithm) {
    if (!h || !h->stream || h->mode != 0)
        return NOT_INITIALIZED;
    if (failed())
        return failed();
    const int64_t rows = op_b ? b->cols : b->rows, cols = op_b ? b->rows : b->cols;
    if (op_a || algorithm || a->kind != CSR || rows != a->cols || c->rows != a->rows ||
        cols != c->cols || a->type != type || b->type != type || c->type != type)
        return INVALID;
    return b->order == c->order ? OK : NOT_SUPPORTED;
}

static int multiply(const char *name, handle *h, int op_b, const void *alpha, object *a, object *b,
    const void *beta, object *c, int type, void *buffer) {
    if (!buffer)
        return INVALID;
    settle(h);
    memset(host(buffer), 0x77, ROOM);
    FILE *f = fopen(getenv("FAKE_CALLS"), "a");
    fprintf(f, "%s type %d index %d %lld x %lld nnz %lld", name, type, a->index, (long long)a->rows,
        (long long)a->cols, (long long)a->nnz);
    if (b->kind == MATRIX)
        fprintf(f, " op %c cols %lld order %d ld %lld %lld", "NT"[op_b], (long long)c->cols,
            c->order, (long long)b->ld, (long long)c->ld);
    fprintf(f, "\n");
    fclose(f);
    if (number(a->pos, a->index, 0) || number(a->pos, a->index, a->rows) != a->nnz)
        return INVALID;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            double complex sum = 0;
            for (int64_t p = number(a->pos, a->index, i); p < number(a->pos, a->index,
                i + 1); p++) {
                const int64_t k = number(a->crd, a->index, p);
                if (k < 0 || k >= a->cols)
                    return INVALID;
                sum += value(a->vals, type, p) * value(b->vals, type,
                    op_b ? place(b, j, k) : place(b, k, j));
            }
            const int64_t to = place(c, i, j);
            put((void *)c->vals, type, to, value(alpha, type, 0) * sum + value(beta, type,
                0) * value(c->vals, type, to));
        }
    return OK;
}

int cusparseSpMV_bufferSize(handle *h, int op, const void *alpha, object *a, object *x,
    const void *beta, object *y, int type, int algorithm, size_t *bytes) {
    *bytes = ROOM;
    return x->kind != VECTOR || y->kind != VECTOR ? INVALID : check(h, op, 0, a, x, y, type,
        algorithm);
}

int cusparseSpMV(handle *h, int op, const void *alpha, object *a, object *x, const void *beta,
    object *y, int type, int algorithm, void *buffer) {
    const int rc = check(h, op, 0, a, x, y, type, algorithm);
    return rc ? rc : multiply("spmv", h, 0, alpha, a, x, beta, y, type, buffer);
}

int cusparseSpMM_bufferSize(handle *h, int op_a, int op_b, const void *alpha, object *a, object *b,
    const void *beta, object *c, int type, int algorithm, size_t *bytes) {
    *bytes = ROOM;
    return b->kind != MATRIX || c->kind != MATRIX ? INVALID : check(h, op_a, op_b, a, b, c, type,
        algorithm);
}

int cusparseSpMM(handle *h, int op_a, int op_b, const void *alpha, object *a, object *b,
    const void *beta, object *c, int type, int algorithm, void *buffer) {
    const int rc = check(h, op_a, op_b, a, b, c, type, algorithm);
    return rc ? rc : multiply("spmm", h, op_b, alpha, a, b, beta, c, type, buffer);
}
