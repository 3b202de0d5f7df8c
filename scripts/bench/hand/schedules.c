/* The loops that the schedules of ../schedules.go ask for, written by hand: the
 * loop order, tiles and threads of the schedule, and within them what an expert
 * would write. Sizes that a schedule does not know are read from the tensors.
 * Every function has the signature of a leaf (see dst.h); t[0] is the result.
 */
#include <stdlib.h>
#include <string.h>

typedef int32_t I;
#define POS(t, l) ((const I *)(t)->levels[l].pos.ptr)
#define CRD(t, l) ((const I *)(t)->levels[l].crd.ptr)
#define VAL(t) ((double *)(t)->vals.ptr)
#define COLUMNS(t) ((t)->levels[1].size)
#define THREADS _Pragma("omp parallel for schedule(static) num_threads(env->threads) if (env->threads > 1)")

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* y(i) = A(i,j) * x(j) for rows [from, to) */
static void rows(dst_tensor **t, int64_t from, int64_t to)
{
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *a = VAL(t[1]), *x = VAL(t[2]);
    double *restrict y = VAL(t[0]);
    for (int64_t i = from; i < to; i++) {
        double s = 0;
        for (I p = pos[i]; p < pos[i + 1]; p++) s += a[p] * x[crd[p]];
        y[i] = s;
    }
}

/* divide(i,i0,i1,2), i0 on threads */
int spmv_halves(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1], half = (n + 1) / 2;
    THREADS
    for (int64_t h = 0; h < 2; h++) rows(t, h * half, least((h + 1) * half, n));
    return 0;
}

/* split(i,i0,i1,32), i0 on threads */
int spmv_32(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    THREADS
    for (int64_t i0 = 0; i0 < (n + 31) / 32; i0++) rows(t, i0 * 32, least(i0 * 32 + 32, n));
    return 0;
}

/* tiles of size entries on threads: the first and the last row of a tile may be
 * other tiles' too, and are added atomically; those between are its own */
static int positions(dst_tensor **t, int64_t n, int64_t size, int dynamic, dst_env *env)
{
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *a = VAL(t[1]), *x = VAL(t[2]);
    double *restrict y = VAL(t[0]);
    int64_t nnz = pos[n], tiles = (nnz + size - 1) / size;
    THREADS
    for (int64_t k = 0; k < 64; k++) {
        int64_t from = n * k / 64, to = n * (k + 1) / 64;
        memset(y + from, 0, (to - from) * sizeof *y);
    }
#define TILE(k) do { \
        int64_t lo = (k) * size, hi = least(lo + size, nnz); \
        int64_t i = 0, end = n; \
        while (i < end) { /* the last row that begins at lo or before */ \
            int64_t m = i + (end - i) / 2; \
            if (pos[m + 1] <= lo) i = m + 1; else end = m; \
        } \
        for (int64_t p = lo; p < hi; i++) { \
            int64_t stop = least(pos[i + 1], hi); \
            double s = 0; \
            for (; p < stop; p++) s += a[p] * x[crd[p]]; \
            if (pos[i] < lo || pos[i + 1] > hi) { \
                _Pragma("omp atomic") \
                y[i] += s; \
            } else { \
                y[i] = s; \
            } \
        } \
    } while (0)
    if (dynamic) {
        _Pragma("omp parallel for schedule(dynamic, 1) num_threads(env->threads) if (env->threads > 1)")
        for (int64_t k = 0; k < tiles; k++) TILE(k);
    } else {
        THREADS
        for (int64_t k = 0; k < tiles; k++) TILE(k);
    }
    return 0;
}

/* fuse(i,j,f), pos(f,p,A), split(p,p0,p1,16384), p0 on threads */
int spmv_positions(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    return positions(t, bounds[0][1], 16384, 0, env);
}

/* the same in tiles of 16, one at a time (figure 6-1) */
int spmv_16(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    return positions(t, bounds[0][1], 16, 1, env);
}

/* C(i,k) = A(i,j) * B(j,k) for rows [from, to): entries of a row by eights, and
 * for each eight the columns, each with the eight products */
static inline __attribute__((always_inline)) void eights(dst_tensor **t, int64_t from, int64_t to, int64_t columns)
{
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *a = VAL(t[1]), *b = VAL(t[2]);
    double *restrict c = VAL(t[0]);
    for (int64_t i = from; i < to; i++) {
        double *restrict ci = c + i * columns;
        memset(ci, 0, columns * sizeof *ci);
        int64_t p = pos[i], end = pos[i + 1];
        for (; p + 8 <= end; p += 8) { /* whole tiles, unrolled */
            const double *r0 = b + crd[p] * columns, *r1 = b + crd[p + 1] * columns, *r2 = b + crd[p + 2] * columns, *r3 = b + crd[p + 3] * columns;
            const double *r4 = b + crd[p + 4] * columns, *r5 = b + crd[p + 5] * columns, *r6 = b + crd[p + 6] * columns, *r7 = b + crd[p + 7] * columns;
            const double *v = a + p;
#pragma omp simd
            for (int64_t k = 0; k < columns; k++)
                ci[k] += v[0] * r0[k] + v[1] * r1[k] + v[2] * r2[k] + v[3] * r3[k] + v[4] * r4[k] + v[5] * r5[k] + v[6] * r6[k] + v[7] * r7[k];
        }
        for (; p < end; p++) { /* the last one */
            const double *row = b + crd[p] * columns;
            double v = a[p];
#pragma omp simd
            for (int64_t k = 0; k < columns; k++) ci[k] += v * row[k];
        }
    }
}

/* A.12 */
int spmm_tiled(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)env;
    eights(t, 0, bounds[0][1], COLUMNS(t[2]));
    return 0;
}

/* A.12 with 32 columns that are known, in lanes */
int spmm_tiled32(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)env;
    eights(t, 0, bounds[0][1], 32);
    return 0;
}

/* A.3: rows by eights on threads */
int spmm_threads(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1], columns = COLUMNS(t[2]);
    THREADS
    for (int64_t i0 = 0; i0 < (n + 7) / 8; i0++) eights(t, i0 * 8, least(i0 * 8 + 8, n), columns);
    return 0;
}

/* A.13 */
int spmm_plain(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)env;
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *a = VAL(t[1]), *b = VAL(t[2]);
    double *restrict c = VAL(t[0]);
    int64_t n = bounds[0][1], columns = COLUMNS(t[2]);
    for (int64_t i = 0; i < n; i++) {
        double *restrict ci = c + i * columns;
        memset(ci, 0, columns * sizeof *ci);
        for (I p = pos[i]; p < pos[i + 1]; p++) {
            const double *row = b + crd[p] * columns;
            double v = a[p];
            for (int64_t k = 0; k < columns; k++) ci[k] += v * row[k];
        }
    }
    return 0;
}

/* For the entries q of the fiber at p of level l: adds the sums below them, times the rows of
 * the level's factor, to out. The sums are computed in w. There is a function for each level.
 * The function for the last level multiplies the values. */
#define LAST(name, l) \
    static inline void name(dst_tensor **t, int64_t p, double *restrict out, double *w, int64_t columns) \
    { \
        const I *pos = POS(t[1], l), *crd = CRD(t[1], l); \
        const double *f = VAL(t[1 + l]), *b = VAL(t[1]); \
        (void)w; \
        for (I q = pos[p]; q < pos[p + 1]; q++) { \
            const double *row = f + crd[q] * columns; \
            double v = b[q]; \
            for (int64_t j = 0; j < columns; j++) out[j] += v * row[j]; \
        } \
    }
#define LEVEL(name, l, next) \
    static inline void name(dst_tensor **t, int64_t p, double *restrict out, double *restrict w, int64_t columns) \
    { \
        const I *pos = POS(t[1], l), *crd = CRD(t[1], l); \
        const double *f = VAL(t[1 + l]); \
        for (I q = pos[p]; q < pos[p + 1]; q++) { \
            const double *row = f + crd[q] * columns; \
            memset(w, 0, columns * sizeof *w); \
            next(t, q, w, w + columns, columns); \
            for (int64_t j = 0; j < columns; j++) out[j] += w[j] * row[j]; \
        } \
    }
LAST(last2, 2)
LAST(last3, 3)
LAST(last4, 4)
LEVEL(order3, 1, last2)
LEVEL(order4_2, 2, last3)
LEVEL(order4, 1, order4_2)
LEVEL(order5_3, 3, last4)
LEVEL(order5_2, 2, order5_3)
LEVEL(order5, 1, order5_2)

/* Without workspaces: each entry times a row of every factor. */
#define EACH(q, l, p) \
    for (I q = POS(t[1], l)[p]; q < POS(t[1], l)[p + 1]; q++) { \
        const double *row##l = VAL(t[1 + l]) + CRD(t[1], l)[q] * columns;
static inline void plain3(dst_tensor **t, int64_t i, double *restrict out, int64_t columns)
{
    EACH(k, 1, i) EACH(l, 2, k)
        double v = VAL(t[1])[l];
        for (int64_t j = 0; j < columns; j++) out[j] += v * row1[j] * row2[j];
    } }
}
static inline void plain4(dst_tensor **t, int64_t i, double *restrict out, int64_t columns)
{
    EACH(k, 1, i) EACH(l, 2, k) EACH(m, 3, l)
        double v = VAL(t[1])[m];
        for (int64_t j = 0; j < columns; j++) out[j] += v * row1[j] * row2[j] * row3[j];
    } } }
}
static inline void plain5(dst_tensor **t, int64_t i, double *restrict out, int64_t columns)
{
    EACH(k, 1, i) EACH(l, 2, k) EACH(m, 3, l) EACH(n, 4, m)
        double v = VAL(t[1])[n];
        for (int64_t j = 0; j < columns; j++) out[j] += v * row1[j] * row2[j] * row3[j] * row4[j];
    } } } }
}

#define MTTKRP(name, body) \
    int name(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) \
    { \
        int64_t n = bounds[0][1], columns = COLUMNS(t[2]); \
        double *a = VAL(t[0]); \
        THREADS \
        for (int64_t i1 = 0; i1 < (n + 31) / 32; i1++) { \
            double w[3 * columns]; \
            (void)w; \
            for (int64_t i = i1 * 32; i < least(i1 * 32 + 32, n); i++) { \
                double *out = a + i * columns; \
                memset(out, 0, columns * sizeof *out); \
                body; \
            } \
        } \
        return 0; \
    }

MTTKRP(mttkrp3, order3(t, i, out, w, columns))
MTTKRP(mttkrp4, order4(t, i, out, w, columns))
MTTKRP(mttkrp5, order5(t, i, out, w, columns))
MTTKRP(mttkrp3_plain, plain3(t, i, out, columns))
MTTKRP(mttkrp4_plain, plain4(t, i, out, columns))
MTTKRP(mttkrp5_plain, plain5(t, i, out, columns))
