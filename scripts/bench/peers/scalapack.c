/* Times ScaLAPACK's pdgemm on square matrices that `bench` dumped (peers.go describes the
 * layout), on the ranks that mpirun started. scalapack gemm THREADS REPEAT FILE FILE prints, in
 * one line, the times in seconds (of the slowest rank) and the sum of the result's values.
 * ScaLAPACK stores matrices by columns and the files by rows, so the program reads transposes
 * and computes the transpose of the product. First it tries several grids and block sizes, and
 * then it uses the fastest. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_gridexit(int context);
int numroc_(const int *n, const int *block, const int *at, const int *first, const int *among);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
               const int *context, const int *ld, int *info);
void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desca, const double *b, const int *ib, const int *jb, const int *descb,
             const double *beta, double *c, const int *ic, const int *jc, const int *descc);
void openblas_set_num_threads(int threads);

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A way to lay matrices out: a grid of ranks, and blocks that are dealt over it. */
struct layout {
    int context, rows, columns, row, column; /* the grid, and this rank's place */
    int n, block, local_rows, local_columns, desc[9];
};

static struct layout layout(int n, int rows, int columns, int block)
{
    struct layout l = {.n = n, .block = block};
    const int zero = 0;
    int info;
    Cblacs_get(-1, 0, &l.context);
    Cblacs_gridinit(&l.context, "Row", rows, columns);
    Cblacs_gridinfo(l.context, &l.rows, &l.columns, &l.row, &l.column);
    l.local_rows = numroc_(&n, &block, &l.row, &zero, &l.rows);
    l.local_columns = numroc_(&n, &block, &l.column, &zero, &l.columns);
    const int ld = l.local_rows > 0 ? l.local_rows : 1;
    descinit_(l.desc, &n, &n, &block, &block, &zero, &zero, &l.context, &ld, &info);
    if (info)
        stop("descinit failed");
    return l;
}

static double *room(const struct layout *l)
{
    double *p = calloc((size_t)l->local_rows * l->local_columns + 1, sizeof *p);
    if (!p)
        stop("no memory");
    return p;
}

/* This rank's blocks of a matrix. */
static double *matrix(const struct layout *l, const char *path)
{
    double *to = room(l), *column = malloc((size_t)l->n * sizeof *column);
    FILE *f = fopen(path, "rb");
    if (!f || !column)
        stop(path);
    for (int j = 0; j < l->local_columns; j++) {
        int64_t global = (int64_t)(j / l->block * l->columns + l->column) * l->block + j % l->block;
        if (fseek(f, 24 + 8 * global * l->n, SEEK_SET) || fread(column, 8, (size_t)l->n, f) != (size_t)l->n)
            stop("a file is too short");
        for (int i = 0; i < l->local_rows; i++)
            to[(int64_t)j * l->local_rows + i] = column[(i / l->block * l->rows + l->row) * l->block + i % l->block];
    }
    fclose(f);
    free(column);
    return to;
}

/* The seconds of the slowest rank. */
static double multiply(const struct layout *l, const double *a, const double *b, double *c)
{
    const int one = 1;
    const double alpha = 1, beta = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double at = MPI_Wtime();
    pdgemm_("N", "N", &l->n, &l->n, &l->n, &alpha, b, &one, &one, l->desc, a, &one, &one, l->desc, &beta, c, &one, &one, l->desc);
    double t = MPI_Wtime() - at, slowest;
    MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* Measures repeat products and returns the sum of the last one. */
static double run(const struct layout *l, char **files, int repeat, double *times)
{
    double *a = matrix(l, files[0]), *b = matrix(l, files[1]), *c = room(l), mine = 0, sum;
    for (int r = 0; r < repeat; r++)
        times[r] = multiply(l, a, b, c);
    for (int64_t p = 0; p < (int64_t)l->local_rows * l->local_columns; p++)
        mine += c[p];
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(a);
    free(b);
    free(c);
    return sum;
}

int main(int argc, char **argv)
{
    static const int blocks[] = {32, 64, 128, 256};
    int rank, ranks;
    int64_t head[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6 || strcmp(argv[1], "gemm"))
        stop("scalapack gemm THREADS REPEAT FILE FILE");
    FILE *f = fopen(argv[4], "rb");
    if (!f || fread(head, 8, 3, f) != 3 || head[0] != head[1])
        stop("no square matrix");
    fclose(f);
    openblas_set_num_threads(1);
    const int n = (int)head[0], repeat = atoi(argv[3]);
    double *times = malloc((size_t)(repeat + 1) * sizeof *times), best = 0, sum;
    int rows = 0, block = 0;
    for (int r = 1; r <= ranks; r++)
        for (size_t k = 0; k < sizeof blocks / sizeof *blocks && ranks % r == 0; k++) {
            struct layout l = layout(n, r, ranks / r, blocks[k]);
            run(&l, argv + 4, 1, times);
            if (getenv("BENCH_VERBOSE") && rank == 0)
                fprintf(stderr, "%d x %d, blocks of %d: %.3f s\n", r, ranks / r, blocks[k], times[0]);
            if (!rows || times[0] < best)
                best = times[0], rows = r, block = blocks[k];
            Cblacs_gridexit(l.context);
        }
    struct layout l = layout(n, rows, ranks / rows, block);
    sum = run(&l, argv + 4, repeat + 1, times);
    for (int r = 1; r <= repeat && rank == 0; r++)
        printf("%.9f ", times[r]);
    if (rank == 0)
        printf("%.17g\n", sum);
    free(times);
    MPI_Finalize();
    return 0;
}
