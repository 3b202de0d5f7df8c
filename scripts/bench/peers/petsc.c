/* Times a kernel of PETSc on matrices that `bench` dumped (peers.go describes the layout), on
 * the ranks that mpirun started. petsc KERNEL THREADS REPEAT FILE... prints, in one line, the
 * times in seconds (of the slowest rank) and the sum of the result's values. */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(FILE *f, int64_t at, void *to, size_t size, int64_t n)
{
    if (fseek(f, at, SEEK_SET) || fread(to, size, (size_t)n, f) != (size_t)n)
        stop("a file is too short");
}

static FILE *open_file(const char *path, int64_t head[3])
{
    FILE *f = fopen(path, "rb");
    if (!f)
        stop(path);
    fill(f, 0, head, 8, 3);
    return f;
}

/* PETSc's own split of n rows. */
static void own(int64_t n, PetscInt *lo, PetscInt *rows)
{
    PetscInt m = PETSC_DECIDE, total = (PetscInt)n, end;
    PetscSplitOwnership(PETSC_COMM_WORLD, &m, &total);
    MPI_Scan(&m, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
    *lo = end - m;
    *rows = m;
}

static Mat sparse(const char *path)
{
    int64_t head[3];
    FILE *f = open_file(path, head);
    PetscInt lo, m, clo, cm;
    own(head[0], &lo, &m);
    own(head[1], &clo, &cm);
    PetscInt *pos = malloc((m + 1) * sizeof *pos);
    fill(f, 24 + 4 * (int64_t)lo, pos, 4, m + 1);
    int64_t first = pos[0], n = pos[m] - first;
    for (PetscInt i = 0; i <= m; i++)
        pos[i] -= (PetscInt)first;
    PetscInt *crd = malloc((n + 1) * sizeof *crd);
    double *vals = malloc((n + 1) * sizeof *vals);
    int64_t base = 24 + 4 * (head[0] + 1);
    fill(f, base + 4 * first, crd, 4, n);
    fill(f, base + 4 * head[2] + 8 * first, vals, 8, n);
    fclose(f);
    Mat a;
    MatCreate(PETSC_COMM_WORLD, &a);
    MatSetSizes(a, m, cm, (PetscInt)head[0], (PetscInt)head[1]);
    MatSetType(a, MATAIJ);
    MatSeqAIJSetPreallocationCSR(a, pos, crd, vals);
    MatMPIAIJSetPreallocationCSR(a, pos, crd, vals);
    free(pos);
    free(crd);
    free(vals);
    return a;
}

/* A dense operand, by columns, as PETSc stores it. */
static Mat dense(const char *path)
{
    int64_t head[3];
    FILE *f = open_file(path, head);
    PetscInt lo, m;
    own(head[0], &lo, &m);
    double *rows = malloc((m * head[1] + 1) * sizeof *rows), *to;
    fill(f, 24 + 8 * (int64_t)lo * head[1], rows, 8, m * head[1]);
    fclose(f);
    Mat x;
    MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, (PetscInt)head[0], (PetscInt)head[1], NULL, &x);
    MatDenseGetArray(x, &to);
    for (PetscInt i = 0; i < m; i++)
        for (PetscInt k = 0; k < head[1]; k++)
            to[k * m + i] = rows[i * head[1] + k];
    MatDenseRestoreArray(x, &to);
    MatAssemblyBegin(x, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(x, MAT_FINAL_ASSEMBLY);
    free(rows);
    return x;
}

static double sum_vec(Vec v)
{
    PetscScalar s;
    VecSum(v, &s);
    return s;
}

static double sum_mat(Mat a)
{
    Vec ones, y;
    MatCreateVecs(a, &ones, &y);
    VecSet(ones, 1);
    MatMult(a, ones, y);
    double s = sum_vec(y);
    VecDestroy(&ones);
    VecDestroy(&y);
    return s;
}

int main(int argc, char **argv)
{
    int none = 1;
    char *only[] = {argv[0], NULL}, **args = only;
    if (argc < 6)
        return 2;
    PetscInitialize(&none, &args, NULL, NULL);
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const char *kernel = argv[1];
    int repeat = atoi(argv[3]);
    Mat a = sparse(argv[4]), b = NULL, c = NULL, y = NULL;
    Vec x = NULL, v = NULL;
    if (!strcmp(kernel, "spmv")) {
        Mat d = dense(argv[5]);
        MatCreateVecs(a, &x, &v);
        MatGetColumnVector(d, x, 0);
        MatDestroy(&d);
    } else if (!strcmp(kernel, "spmm")) {
        b = dense(argv[5]);
        MatMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &y);
    } else {
        b = sparse(argv[5]);
        if (!strcmp(kernel, "spadd3"))
            c = sparse(argv[6]);
    }
    double s = 0;
    for (int r = 0; r <= repeat; r++) {
        MPI_Barrier(PETSC_COMM_WORLD);
        double at = MPI_Wtime();
        if (!strcmp(kernel, "spmv")) {
            MatMult(a, x, v);
        } else if (!strcmp(kernel, "spmm")) {
            MatMatMult(a, b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &y);
        } else if (!strcmp(kernel, "spgemm")) {
            MatMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &y);
        } else {
            MatDuplicate(a, MAT_COPY_VALUES, &y);
            MatAXPY(y, 1, b, DIFFERENT_NONZERO_PATTERN);
            if (c)
                MatAXPY(y, 1, c, DIFFERENT_NONZERO_PATTERN);
        }
        double t = MPI_Wtime() - at, slowest;
        MPI_Reduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, PETSC_COMM_WORLD);
        if (v) {
            s = sum_vec(v);
        } else if (!strcmp(kernel, "spmm")) {
            s = 0;
            PetscInt cols;
            MatGetSize(y, NULL, &cols);
            for (PetscInt k = 0; k < cols && r == repeat; k++) {
                Vec col;
                MatDenseGetColumnVecRead(y, k, &col);
                s += sum_vec(col);
                MatDenseRestoreColumnVecRead(y, k, &col);
            }
        } else {
            s = r == repeat ? sum_mat(y) : 0;
            MatDestroy(&y);
        }
        if (r > 0 && rank == 0)
            printf("%.9f ", slowest);
    }
    if (rank == 0)
        printf("%.17g\n", s);
    PetscFinalize();
    return 0;
}
