/* Times a kernel of MKL's sparse BLAS on matrices that `bench` dumped. mkl KERNEL THREADS REPEAT
 * FILE... prints, in one line, the times in seconds and the sum of the result's values. What MKL
 * finds out about a matrix before its first product is not counted. */
#include "files.h"
#include <mkl.h>
#include <mkl_spblas.h>
#include <string.h>

static void must(sparse_status_t status, const char *what)
{
    if (status != SPARSE_STATUS_SUCCESS) {
        fprintf(stderr, "%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static sparse_matrix_t sparse(const char *path)
{
    struct csr m = read_csr(path);
    sparse_matrix_t a;
    must(mkl_sparse_d_create_csr(&a, SPARSE_INDEX_BASE_ZERO, (MKL_INT)m.rows, (MKL_INT)m.columns, m.pos, m.pos + 1, m.crd, m.vals), "create_csr");
    return a;
}

static double sum_sparse(sparse_matrix_t a)
{
    sparse_index_base_t base;
    MKL_INT rows, columns, *begin, *end, *crd;
    double *vals;
    must(mkl_sparse_d_export_csr(a, &base, &rows, &columns, &begin, &end, &crd, &vals), "export_csr");
    return sum_of(vals, end[rows - 1]);
}

static const struct matrix_descr general = {SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_FULL, SPARSE_DIAG_NON_UNIT};

/* A product with a dense matrix, or of one column with a vector. */
static double dense(sparse_matrix_t a, int64_t rows, struct rows x, int vector, int repeat)
{
    const sparse_operation_t op = SPARSE_OPERATION_NON_TRANSPOSE;
    const MKL_INT n = (MKL_INT)x.columns;
    double *y = calloc((size_t)(rows * x.columns) + 1, sizeof *y);
    if (vector)
        must(mkl_sparse_set_mv_hint(a, op, general, 1000), "set_mv_hint");
    else
        must(mkl_sparse_set_mm_hint(a, op, general, SPARSE_LAYOUT_ROW_MAJOR, n, 1000), "set_mm_hint");
    must(mkl_sparse_optimize(a), "optimize");
    for (int r = 0; r <= repeat; r++) {
        double at = now();
        if (vector)
            must(mkl_sparse_d_mv(op, 1, a, general, x.vals, 0, y), "mv");
        else
            must(mkl_sparse_d_mm(op, 1, a, general, SPARSE_LAYOUT_ROW_MAJOR, x.vals, n, n, 0, y, n), "mm");
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    return sum_of(y, rows * x.columns);
}

/* Results that MKL makes, their rows in order. */
static double made(const char *kernel, sparse_matrix_t a, sparse_matrix_t b, sparse_matrix_t c, int repeat)
{
    const sparse_operation_t op = SPARSE_OPERATION_NON_TRANSPOSE;
    double s = 0;
    for (int r = 0; r <= repeat; r++) {
        sparse_matrix_t y, part = NULL;
        double at = now();
        if (!strcmp(kernel, "spgemm")) {
            must(mkl_sparse_spmm(op, a, b, &y), "spmm");
        } else {
            must(mkl_sparse_d_add(op, a, 1, b, &y), "add");
            if (c) {
                part = y;
                must(mkl_sparse_d_add(op, part, 1, c, &y), "add");
            }
        }
        must(mkl_sparse_order(y), "order");
        if (r > 0)
            printf("%.9f ", now() - at);
        s = sum_sparse(y);
        must(mkl_sparse_destroy(y), "destroy");
        if (part)
            must(mkl_sparse_destroy(part), "destroy");
    }
    return s;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    const char *kernel = argv[1];
    int repeat = atoi(argv[3]);
    mkl_set_num_threads(atoi(argv[2]));
    sparse_matrix_t a = sparse(argv[4]);
    double s;
    if (!strcmp(kernel, "spmv") || !strcmp(kernel, "spmm")) {
        struct csr m = read_csr(argv[4]);
        s = dense(a, m.rows, read_rows(argv[5]), !strcmp(kernel, "spmv"), repeat);
    } else {
        s = made(kernel, a, sparse(argv[5]), argc > 6 ? sparse(argv[6]) : NULL, repeat);
    }
    printf("%.17g\n", s);
    return 0;
}
