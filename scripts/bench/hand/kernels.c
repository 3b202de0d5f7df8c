/* The kernels that Distaff's leaves are measured against, written by hand for
 * CSR and CSF as an expert would: 32-bit coordinates and positions, register
 * accumulators for 32 columns, rows balanced by stored entries, huge pages
 * through the caller's allocator, prefetch of gathered rows where it helps.
 * Every function has the signature of a leaf (see dst.h); t[0] is the result.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define K 32 /* columns of the dense operands */
#define AHEAD 16

typedef int32_t I;
#define POS(t, l) ((const I *)(t)->levels[l].pos.ptr)
#define CRD(t, l) ((const I *)(t)->levels[l].crd.ptr)
#define VAL(t) ((double *)(t)->vals.ptr)

/* first row whose position is >= p */
static int64_t row_at(const I *pos, int64_t n, int64_t p)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t m = lo + (hi - lo) / 2;
        if (pos[m] < p) lo = m + 1; else hi = m;
    }
    return lo;
}

/* chunk c of n rows cut by entries: [*lo, *hi) */
static void cut(const I *pos, int64_t n, int c, int chunks, int64_t *lo, int64_t *hi)
{
    int64_t nnz = pos[n];
    *lo = c == 0 ? 0 : row_at(pos, n, nnz * c / chunks);
    *hi = c == chunks - 1 ? n : row_at(pos, n, nnz * (c + 1) / chunks);
}

#define CHUNKS(env) ((env)->threads == 1 ? 1 : 8 * (env)->threads)
#define EACH(c) _Pragma("omp parallel for schedule(dynamic, 1) num_threads(env->threads) if (env->threads > 1)") \
    for (int c = 0; c < chunks; c++)

/* y(i) = A(i,j) * x(j) */
int spmv(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *a = VAL(t[1]), *x = VAL(t[2]);
    double *y = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            double s = 0;
            for (I p = pos[i]; p < pos[i + 1]; p++) s += a[p] * x[crd[p]];
            y[i] = s;
        }
    }
    return 0;
}

/* A(i,k) = B(i,j) * C(j,k), 32 columns */
int spmm(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *b = VAL(t[1]), *cc = VAL(t[2]);
    double *a = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            double acc[K] = {0};
            for (I p = pos[i]; p < pos[i + 1]; p++) {
                const double *row = cc + (int64_t)crd[p] * K;
                const double *next = cc + (int64_t)crd[p + AHEAD < pos[n] ? p + AHEAD : p] * K;
                for (int k = 0; k < K; k += 8) __builtin_prefetch(next + k);
                double v = b[p];
                for (int k = 0; k < K; k++) acc[k] += v * row[k];
            }
            memcpy(a + i * K, acc, sizeof acc);
        }
    }
    return 0;
}

/* A(i,j) = B(i,j) * C(i,k) * D(j,k), 32 columns; A shares B's pattern */
int sddmm(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *pos = POS(t[1], 1), *crd = CRD(t[1], 1);
    const double *b = VAL(t[1]), *cm = VAL(t[2]), *d = VAL(t[3]);
    double *a = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            const double *ci = cm + i * K;
            for (I p = pos[i]; p < pos[i + 1]; p++) {
                const double *dj = d + (int64_t)crd[p] * K;
                const double *next = d + (int64_t)crd[p + AHEAD < pos[n] ? p + AHEAD : p] * K;
                for (int k = 0; k < K; k += 8) __builtin_prefetch(next + k);
                double s = 0;
#pragma omp simd reduction(+ : s)
                for (int k = 0; k < K; k++) s += ci[k] * dj[k];
                a[p] = b[p] * s;
            }
        }
    }
    return 0;
}

/* Publishes a CSR result whose rows were written at an upper bound, chunk by
 * chunk: closes the gaps between chunks in place. */
static void compact(int chunks, const int64_t *at, const int64_t *len, I *crd, double *val)
{
    int64_t to = 0;
    for (int c = 0; c < chunks; c++) {
        if (to != at[c]) {
            memmove(crd + to, crd + at[c], len[c] * sizeof *crd);
            memmove(val + to, val + at[c], len[c] * sizeof *val);
        }
        to += len[c];
    }
}

static int publish(dst_tensor *t, dst_env *env, int64_t n, I *rows, I *crd, double *val)
{
    (void)env;
    dst_level *l = &t->levels[1];
    for (int64_t i = 0; i < n; i++) rows[i + 1] += rows[i];
    l->pos = (dst_array){rows, n + 1, 0};
    l->crd = (dst_array){crd, rows[n], 0};
    t->vals = (dst_array){val, rows[n], 0};
    return 0;
}

/* one row of a two-way sum; returns its length */
static I add2row(const I *ac, const double *av, I na, const I *bc, const double *bv, I nb, I *oc, double *ov)
{
    I p = 0, q = 0, o = 0;
    while (p < na && q < nb) {
        I x = ac[p], y = bc[q];
        I m = x < y ? x : y;
        oc[o] = m;
        ov[o++] = (x == m ? av[p] : 0) + (y == m ? bv[q] : 0);
        p += x == m;
        q += y == m;
    }
    for (; p < na; p++) { oc[o] = ac[p]; ov[o++] = av[p]; }
    for (; q < nb; q++) { oc[o] = bc[q]; ov[o++] = bv[q]; }
    return o;
}

/* A(i,j) = B(i,j) + C(i,j) */
int spadd(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *bp = POS(t[1], 1), *bc = CRD(t[1], 1), *cp = POS(t[2], 1), *cc = CRD(t[2], 1);
    const double *bv = VAL(t[1]), *cv = VAL(t[2]);
    int64_t cap = (int64_t)bp[n] + cp[n];
    I *rows = env->alloc(env, (n + 1) * sizeof(I), 0);
    I *crd = env->alloc(env, cap * sizeof(I), 0);
    double *val = env->alloc(env, cap * sizeof(double), 0);
    int chunks = CHUNKS(env);
    int64_t at[1024], len[1024];
    rows[0] = 0;
    EACH(c) {
        int64_t lo, hi;
        cut(bp, n, c, chunks, &lo, &hi);
        int64_t o = at[c] = (int64_t)bp[lo] + cp[lo];
        for (int64_t i = lo; i < hi; i++) {
            I k = add2row(bc + bp[i], bv + bp[i], bp[i + 1] - bp[i], cc + cp[i], cv + cp[i], cp[i + 1] - cp[i], crd + o, val + o);
            rows[i + 1] = k;
            o += k;
        }
        len[c] = o - at[c];
    }
    compact(chunks, at, len, crd, val);
    return publish(t[0], env, n, rows, crd, val);
}

/* A(i,j) = B(i,j) + C(i,j) + D(i,j) */
int spadd3(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *bp = POS(t[1], 1), *bc = CRD(t[1], 1), *cp = POS(t[2], 1), *cc = CRD(t[2], 1), *dp = POS(t[3], 1), *dc = CRD(t[3], 1);
    const double *bv = VAL(t[1]), *cv = VAL(t[2]), *dv = VAL(t[3]);
    int64_t cap = (int64_t)bp[n] + cp[n] + dp[n];
    I *rows = env->alloc(env, (n + 1) * sizeof(I), 0);
    I *crd = env->alloc(env, cap * sizeof(I), 0);
    double *val = env->alloc(env, cap * sizeof(double), 0);
    int chunks = CHUNKS(env);
    int64_t at[1024], len[1024];
    rows[0] = 0;
    EACH(c) {
        int64_t lo, hi;
        cut(bp, n, c, chunks, &lo, &hi);
        int64_t o = at[c] = (int64_t)bp[lo] + cp[lo] + dp[lo];
        for (int64_t i = lo; i < hi; i++) {
            I b = bp[i], be = bp[i + 1], k = cp[i], ke = cp[i + 1], d = dp[i], de = dp[i + 1];
            int64_t o0 = o;
            while (b < be || k < ke || d < de) {
                I x = b < be ? bc[b] : INT_MAX, y = k < ke ? cc[k] : INT_MAX, z = d < de ? dc[d] : INT_MAX;
                I m = x < y ? x : y;
                m = z < m ? z : m;
                double s = 0;
                if (x == m) s = bv[b++];
                if (y == m) s += cv[k++];
                if (z == m) s += dv[d++];
                crd[o] = m;
                val[o++] = s;
            }
            rows[i + 1] = (I)(o - o0);
        }
        len[c] = o - at[c];
    }
    compact(chunks, at, len, crd, val);
    return publish(t[0], env, n, rows, crd, val);
}

static void sort_crd(I *a, int64_t n)
{
    if (n <= 32) {
        for (int64_t i = 1; i < n; i++) {
            I v = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
            a[j] = v;
        }
        return;
    }
    I lo = a[0], mid = a[n / 2], hi = a[n - 1];
    I piv = lo < mid ? (mid < hi ? mid : lo < hi ? hi : lo) : (lo < hi ? lo : mid < hi ? hi : mid);
    int64_t i = 0, j = n - 1;
    while (i <= j) {
        while (a[i] < piv) i++;
        while (a[j] > piv) j--;
        if (i <= j) { I s = a[i]; a[i++] = a[j]; a[j--] = s; }
    }
    sort_crd(a, j + 1);
    sort_crd(a + i, n - i);
}

/* A(i,j) = B(i,k) * C(k,j): Gustavson with a dense row, rows sorted */
int spgemm(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1], m = t[0]->levels[1].size;
    const I *bp = POS(t[1], 1), *bc = CRD(t[1], 1), *cp = POS(t[2], 1), *cc = CRD(t[2], 1);
    const double *bv = VAL(t[1]), *cv = VAL(t[2]);
    I *rows = env->alloc(env, (n + 1) * sizeof(I), 0);
    int chunks = CHUNKS(env);
    rows[0] = 0;
    EACH(c) { /* count */
        int64_t lo, hi;
        cut(bp, n, c, chunks, &lo, &hi);
        I *seen = malloc(m * sizeof *seen);
        memset(seen, -1, m * sizeof *seen);
        for (int64_t i = lo; i < hi; i++) {
            I k = 0;
            for (I p = bp[i]; p < bp[i + 1]; p++)
                for (I q = cp[bc[p]]; q < cp[bc[p] + 1]; q++)
                    if (seen[cc[q]] != (I)i) { seen[cc[q]] = (I)i; k++; }
            rows[i + 1] = k;
        }
        free(seen);
    }
    for (int64_t i = 0; i < n; i++) rows[i + 1] += rows[i];
    I *crd = env->alloc(env, (int64_t)rows[n] * sizeof(I), 0);
    double *val = env->alloc(env, (int64_t)rows[n] * sizeof(double), 0);
    EACH(c) { /* fill */
        int64_t lo, hi;
        cut(bp, n, c, chunks, &lo, &hi);
        double *w = calloc(m, sizeof *w);
        I *seen = malloc(m * sizeof *seen);
        memset(seen, -1, m * sizeof *seen);
        for (int64_t i = lo; i < hi; i++) {
            I *list = crd + rows[i];
            I k = 0;
            for (I p = bp[i]; p < bp[i + 1]; p++) {
                double v = bv[p];
                for (I q = cp[bc[p]]; q < cp[bc[p] + 1]; q++) {
                    I j = cc[q];
                    if (seen[j] != (I)i) { seen[j] = (I)i; list[k++] = j; w[j] = v * cv[q]; }
                    else w[j] += v * cv[q];
                }
            }
            sort_crd(list, k);
            double *out = val + rows[i];
            for (I q = 0; q < k; q++) out[q] = w[list[q]];
        }
        free(w);
        free(seen);
    }
    dst_level *l = &t[0]->levels[1];
    l->pos = (dst_array){rows, n + 1, 0};
    l->crd = (dst_array){crd, rows[n], 0};
    t[0]->vals = (dst_array){val, rows[n], 0};
    return 0;
}

/* A(i,j) = B(i,j,k) * c(k), sss: A shares B's first two levels */
int ttv(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)bounds;
    int64_t n = t[1]->levels[1].crd.len;
    const I *pos = POS(t[1], 2), *crd = CRD(t[1], 2);
    const double *b = VAL(t[1]), *x = VAL(t[2]);
    double *a = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            double s = 0;
            for (I p = pos[i]; p < pos[i + 1]; p++) s += b[p] * x[crd[p]];
            a[i] = s;
        }
    }
    return 0;
}

/* A(i,j,l) = B(i,j,k) * C(k,l), A ssd sharing B's first two levels */
int ttm(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)bounds;
    int64_t n = t[1]->levels[1].crd.len;
    const I *pos = POS(t[1], 2), *crd = CRD(t[1], 2);
    const double *b = VAL(t[1]), *cm = VAL(t[2]);
    double *a = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            double acc[K] = {0};
            for (I p = pos[i]; p < pos[i + 1]; p++) {
                const double *row = cm + (int64_t)crd[p] * K;
                double v = b[p];
                for (int k = 0; k < K; k++) acc[k] += v * row[k];
            }
            memcpy(a + i * K, acc, sizeof acc);
        }
    }
    return 0;
}

/* A(m0,l) = B * F1(m1,l) * F2(m2,l) for the mode stored at level 0 of B; the
 * other modes are run by storing B with that mode first. */
int mttkrp(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)bounds;
    const dst_tensor *B = t[1];
    int64_t n = B->levels[0].crd.len;
    const I *c0 = CRD(B, 0), *p1 = POS(B, 1), *c1 = CRD(B, 1), *p2 = POS(B, 2), *c2 = CRD(B, 2);
    const double *b = VAL(B), *f1 = VAL(t[2]), *f2 = VAL(t[3]);
    double *a = VAL(t[0]);
    memset(a, 0, t[0]->vals.len * sizeof *a);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(p1, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            double out[K] = {0};
            for (I p = p1[i]; p < p1[i + 1]; p++) {
                double w[K] = {0};
                for (I q = p2[p]; q < p2[p + 1]; q++) {
                    const double *row = f2 + (int64_t)c2[q] * K;
                    double v = b[q];
                    for (int k = 0; k < K; k++) w[k] += v * row[k];
                }
                const double *row = f1 + (int64_t)c1[p] * K;
                for (int k = 0; k < K; k++) out[k] += w[k] * row[k];
            }
            memcpy(a + (int64_t)c0[i] * K, out, sizeof out);
        }
    }
    return 0;
}

/* Sums rows of 32 columns from the copies that chunks have of a result. */
static void sum_copies(double *a, double *const *copies, int chunks, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t p = 0; p < n; p++) {
        double s = 0;
        for (int c = 0; c < chunks; c++) s += copies[c][p];
        a[p] = s;
    }
}

/* A(j,l) = B(i,j,k) * C(i,l) * D(k,l) for mode 1, A(k,l) = B(i,j,k) * C(i,l) * D(j,l) for
 * mode 2, from B stored by i, j, k: each thread adds to a copy of the result. */
static int onecopy(dst_tensor **t, dst_env *env, int mode)
{
    const dst_tensor *B = t[1];
    const int64_t n = B->levels[0].crd.len, places = t[0]->vals.len;
    const I *c0 = CRD(B, 0), *p1 = POS(B, 1), *c1 = CRD(B, 1), *p2 = POS(B, 2), *c2 = CRD(B, 2);
    const double *b = VAL(B), *f1 = VAL(t[2]), *f2 = VAL(t[3]);
    double *a = VAL(t[0]), *copies[1024];
    const int chunks = env->threads; /* one copy a thread */
    EACH(c) {
        int64_t lo, hi;
        cut(p1, n, c, chunks, &lo, &hi);
        double *to = copies[c] = chunks == 1 ? a : malloc(places * sizeof *a);
        memset(to, 0, places * sizeof *a);
        for (int64_t i = lo; i < hi; i++) {
            const double *row0 = f1 + (int64_t)c0[i] * K;
            for (I p = p1[i]; p < p1[i + 1]; p++) {
                if (mode == 1) {
                    double w[K] = {0};
                    for (I q = p2[p]; q < p2[p + 1]; q++) {
                        const double *row = f2 + (int64_t)c2[q] * K;
                        for (int k = 0; k < K; k++) w[k] += b[q] * row[k];
                    }
                    double *out = to + (int64_t)c1[p] * K;
                    for (int k = 0; k < K; k++) out[k] += w[k] * row0[k];
                } else {
                    const double *row = f2 + (int64_t)c1[p] * K;
                    double w[K];
                    for (int k = 0; k < K; k++) w[k] = row0[k] * row[k];
                    for (I q = p2[p]; q < p2[p + 1]; q++) {
                        double *out = to + (int64_t)c2[q] * K;
                        for (int k = 0; k < K; k++) out[k] += b[q] * w[k];
                    }
                }
            }
        }
    }
    if (chunks > 1) {
        sum_copies(a, copies, chunks, places, env->threads);
        for (int c = 0; c < chunks; c++) free(copies[c]);
    }
    return 0;
}

int onecopy1(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)bounds;
    return onecopy(t, env, 1);
}

int onecopy2(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    (void)bounds;
    return onecopy(t, env, 2);
}
