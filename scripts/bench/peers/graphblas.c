/* Times a kernel of SuiteSparse:GraphBLAS on matrices that `bench` dumped. graphblas KERNEL THREADS
 * REPEAT FILE... prints, in one line, the times in seconds and the sum of the result's values.
 * Products with dense operands add to a full result that holds zeros, the form with kernels of its
 * own there; SDDMM is a product of full matrices under the mask of the sparse one, times it. */
#include "files.h"
#include <GraphBLAS.h>
#include <string.h>

static void must(GrB_Info info, const char *what)
{
    if (info != GrB_SUCCESS) {
        fprintf(stderr, "%s: info %d\n", what, (int)info);
        exit(1);
    }
}

static GrB_Index *wide(int32_t *from, int64_t n)
{
    GrB_Index *to = malloc(sizeof *to * (size_t)n + 8);
    for (int64_t p = 0; p < n; p++)
        to[p] = (GrB_Index)from[p];
    free(from);
    return to;
}

static GrB_Matrix sparse(const char *path)
{
    struct csr m = read_csr(path);
    GrB_Index *pos = wide(m.pos, m.rows + 1), *crd = wide(m.crd, m.entries), n = (GrB_Index)m.entries;
    void *vals = m.vals;
    GrB_Matrix a;
    must(GrB_Matrix_new(&a, GrB_FP64, (GrB_Index)m.rows, (GrB_Index)m.columns), "Matrix_new");
    must(GxB_Matrix_pack_CSR(a, &pos, &crd, &vals, 8 * ((GrB_Index)m.rows + 1), 8 * n, 8 * n, false, false, NULL), "pack_CSR");
    return a;
}

static GrB_Matrix full(double *x, int64_t rows, int64_t columns)
{
    void *vals = x;
    GrB_Matrix a;
    must(GrB_Matrix_new(&a, GrB_FP64, (GrB_Index)rows, (GrB_Index)columns), "Matrix_new");
    must(GxB_Matrix_pack_FullR(a, &vals, 8 * (GrB_Index)(rows * columns), false, NULL), "pack_FullR");
    return a;
}

static GrB_Matrix dense(const char *path)
{
    struct rows m = read_rows(path);
    return full(m.vals, m.rows, m.columns);
}

static GrB_Vector vector(double *x, int64_t n)
{
    void *vals = x;
    GrB_Vector v;
    must(GrB_Vector_new(&v, GrB_FP64, (GrB_Index)n), "Vector_new");
    must(GxB_Vector_pack_Full(v, &vals, 8 * (GrB_Index)n, false, NULL), "pack_Full");
    return v;
}

static double sum(GrB_Matrix a)
{
    double s = 0;
    must(GrB_Matrix_reduce_FP64(&s, NULL, GrB_PLUS_MONOID_FP64, a, NULL), "reduce");
    return s;
}

static double spmv(GrB_Matrix a, const char *path, int repeat)
{
    struct rows x = read_rows(path);
    GrB_Index rows;
    must(GrB_Matrix_nrows(&rows, a), "nrows");
    GrB_Vector v = vector(x.vals, x.rows), y = vector(calloc(rows + 1, 8), (int64_t)rows);
    for (int r = 0; r <= repeat; r++) {
        double at = now();
        must(GrB_Vector_assign_FP64(y, NULL, NULL, 0, GrB_ALL, rows, NULL), "assign");
        must(GrB_mxv(y, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, a, v, NULL), "mxv");
        must(GrB_Vector_wait(y, GrB_MATERIALIZE), "wait");
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    double s = 0;
    must(GrB_Vector_reduce_FP64(&s, NULL, GrB_PLUS_MONOID_FP64, y, NULL), "reduce");
    return s;
}

static double spmm(GrB_Matrix a, const char *path, int repeat)
{
    GrB_Index rows, columns;
    GrB_Matrix x = dense(path);
    must(GrB_Matrix_nrows(&rows, a), "nrows");
    must(GrB_Matrix_ncols(&columns, x), "ncols");
    GrB_Matrix y = full(calloc(rows * columns + 1, 8), (int64_t)rows, (int64_t)columns);
    for (int r = 0; r <= repeat; r++) {
        double at = now();
        must(GrB_Matrix_assign_FP64(y, NULL, NULL, 0, GrB_ALL, rows, GrB_ALL, columns, NULL), "assign");
        must(GrB_mxm(y, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, a, x, NULL), "mxm");
        must(GrB_Matrix_wait(y, GrB_MATERIALIZE), "wait");
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    return sum(y);
}

/* Results whose pattern GraphBLAS finds. */
static double made(const char *kernel, char **files, int repeat)
{
    GrB_Matrix a = sparse(files[0]), b, c = NULL;
    GrB_Index rows, columns;
    if (!strcmp(kernel, "sddmm")) {
        b = dense(files[1]);
        c = dense(files[2]);
        must(GrB_Matrix_ncols(&columns, a), "ncols");
    } else {
        b = sparse(files[1]);
        must(GrB_Matrix_ncols(&columns, b), "ncols");
        if (!strcmp(kernel, "spadd3"))
            c = sparse(files[2]);
    }
    must(GrB_Matrix_nrows(&rows, a), "nrows");
    double s = 0;
    for (int r = 0; r <= repeat; r++) {
        GrB_Matrix y, part = NULL;
        double at = now();
        must(GrB_Matrix_new(&y, GrB_FP64, rows, columns), "Matrix_new");
        if (!strcmp(kernel, "spgemm")) {
            must(GrB_mxm(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, b, NULL), "mxm");
        } else if (!strcmp(kernel, "sddmm")) {
            must(GrB_Matrix_new(&part, GrB_FP64, rows, columns), "Matrix_new");
            must(GrB_mxm(part, a, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, b, c, GrB_DESC_ST1), "mxm");
            must(GrB_Matrix_eWiseMult_BinaryOp(y, NULL, NULL, GrB_TIMES_FP64, part, a, NULL), "eWiseMult");
        } else {
            must(GrB_Matrix_eWiseAdd_BinaryOp(y, NULL, NULL, GrB_PLUS_FP64, a, b, NULL), "eWiseAdd");
            if (c) {
                part = y;
                must(GrB_Matrix_new(&y, GrB_FP64, rows, columns), "Matrix_new");
                must(GrB_Matrix_eWiseAdd_BinaryOp(y, NULL, NULL, GrB_PLUS_FP64, part, c, NULL), "eWiseAdd");
            }
        }
        must(GrB_Matrix_wait(y, GrB_MATERIALIZE), "wait"); /* sorts rows, too */
        if (r > 0)
            printf("%.9f ", now() - at);
        s = sum(y);
        GrB_Matrix_free(&y);
        GrB_Matrix_free(&part);
    }
    return s;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    int repeat = atoi(argv[3]);
    double s;
    must(GrB_init(GrB_NONBLOCKING), "init");
    must(GxB_Global_Option_set_INT32(GxB_GLOBAL_NTHREADS, atoi(argv[2])), "NTHREADS");
    if (!strcmp(argv[1], "spmv"))
        s = spmv(sparse(argv[4]), argv[5], repeat);
    else if (!strcmp(argv[1], "spmm"))
        s = spmm(sparse(argv[4]), argv[5], repeat);
    else
        s = made(argv[1], argv + 4, repeat);
    printf("%.17g\n", s);
    GrB_finalize();
    return 0;
}
