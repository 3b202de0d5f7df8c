/* Reads what `bench` dumped for the programs of peers in C and C++ (peers.go gives the layouts). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *get(FILE *f, size_t size, int64_t n)
{
    void *p = malloc(size * (size_t)n + 1);
    if (!p || fread(p, size, (size_t)n, f) != (size_t)n) {
        fprintf(stderr, "a file cannot be read\n");
        exit(1);
    }
    return p;
}

static FILE *open_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct csr {
    int64_t rows, columns, entries;
    int32_t *pos, *crd;
    double *vals;
};

static inline struct csr read_csr(const char *path)
{
    FILE *f = open_file(path);
    int64_t *head = (int64_t *)get(f, 8, 3);
    struct csr m = {head[0], head[1], head[2], NULL, NULL, NULL};
    m.pos = (int32_t *)get(f, 4, m.rows + 1);
    m.crd = (int32_t *)get(f, 4, m.entries);
    m.vals = (double *)get(f, 8, m.entries);
    fclose(f);
    free(head);
    return m;
}

/* A dense matrix, by rows. */
struct rows {
    int64_t rows, columns;
    double *vals;
};

static inline struct rows read_rows(const char *path)
{
    FILE *f = open_file(path);
    int64_t *head = (int64_t *)get(f, 8, 3);
    struct rows m = {head[0], head[1], NULL};
    m.vals = (double *)get(f, 8, m.rows * m.columns);
    fclose(f);
    free(head);
    return m;
}

/* A sparse tensor of order 3. */
struct coords {
    int64_t sizes[3], entries;
    int32_t *crd[3];
    double *vals;
};

static inline struct coords read_coords(const char *path)
{
    FILE *f = open_file(path);
    int64_t *head = (int64_t *)get(f, 8, 4);
    struct coords t = {{head[0], head[1], head[2]}, head[3], {NULL, NULL, NULL}, NULL};
    for (int m = 0; m < 3; m++)
        t.crd[m] = (int32_t *)get(f, 4, t.entries);
    t.vals = (double *)get(f, 8, t.entries);
    fclose(f);
    free(head);
    return t;
}

static inline double sum_of(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t p = 0; p < n; p++)
        s += x[p];
    return s;
}
