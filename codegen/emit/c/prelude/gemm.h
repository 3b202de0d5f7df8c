/* Adds the products of rows [i, i + n) of g's A, n being 1 or 6, with count columns of
 * B from j on to those of C: rows [k, k + depth) of these columns, times alpha, are in panel. */
static inline void dst_gemm_rows_$S(const dst_gemm *g, const $T *panel, int64_t i, const int n, int64_t j, int64_t count, int64_t k, int64_t depth) {
    $T sum[6][$N] = {{0}};
    const $T *a = (const $T *)g->a + i * g->a_row + k * g->a_col;
    for (int64_t l = 0; l < depth; l++)
#pragma GCC unroll 6
        for (int r = 0; r < n; r++) {
            const $T x = a[r * g->a_row + l * g->a_col];
#pragma omp simd
            for (int q = 0; q < $N; q++)
                sum[r][q] += $X(x, panel[l * $N + q]);
        }
    $T *c = ($T *)g->c + i * g->c_row + j;
    for (int r = 0; r < n; r++)
        for (int64_t q = 0; q < count; q++)
            c[r * g->c_row + q] += sum[r][q];
}

/* Computes g: a block of A, up to 240 rows of 256 columns, which stays in a cache, at a time
 * with $N columns of B, which it packs. */
static void dst_gemm_loops_$S(const dst_gemm *g) {
    const $T alpha = *(const $T *)g->alpha;
    const $T *b = (const $T *)g->b;
    $T panel[256 * $N];
    for (int64_t k = 0; k < g->k; k += 256)
        for (int64_t from = 0; from < g->m; from += 240)
            for (int64_t j = 0; j < g->n; j += $N) {
                const int64_t count = g->n - j < $N ? g->n - j : $N, depth = g->k - k < 256 ? g->k - k : 256;
                const int64_t to = g->m - from < 240 ? g->m : from + 240;
                for (int64_t l = 0; l < depth; l++)
                    for (int64_t q = 0; q < $N; q++)
                        panel[l * $N + q] = q < count ? $X(alpha, b[(k + l) * g->b_row + (j + q) * g->b_col]) : 0;
                int64_t i = from;
                for (; i + 6 <= to; i += 6)
                    dst_gemm_rows_$S(g, panel, i, 6, j, count, k, depth);
                for (; i < to; i++)
                    dst_gemm_rows_$S(g, panel, i, 1, j, count, k, depth);
            }
}

/* Adds alpha*a*b to c, as g has it, by env's function where that takes the matrices. */
static void dst_gemm_part_$S(dst_env *env, const dst_gemm *g) {
    if (!env->gemm || !env->gemm(env, g))
        dst_gemm_loops_$S(g);
}

/* The same of a, b and c. Each thread computes some rows of c, or some columns where there
 * are more of these; small products are one thread's. */
static void dst_gemm_$S(dst_env *env, int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t a_row, int64_t a_col,
    const $T *b, int64_t b_row, int64_t b_col, $T *c, int64_t c_row, int64_t c_col) {
    const dst_gemm whole = {$K, m, n, k, &alpha, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col};
    if (m < 1 || n < 1 || k < 1)
        return;
    const int64_t most = m > n ? m : n;
    int64_t parts = (double)m * (double)n * (double)k < (1 << 18) ? 1 : env->threads;
    if (parts > most / 16)
        parts = most / 16;
    if (parts <= 1) {
        dst_gemm_part_$S(env, &whole);
        return;
    }
    const int64_t size = (most + parts - 1) / parts;
#pragma omp parallel for num_threads((int)parts)
    for (int64_t part = 0; part < parts; part++) {
        const int64_t from = part * size, left = most - from, count = left < size ? left : size;
        dst_gemm g = whole;
        if (count < 1)
            continue;
        if (m > n) {
            g.m = count;
            g.a = a + from * a_row;
            g.c = c + from * c_row;
        } else {
            g.n = count;
            g.b = b + from * b_col;
            g.c = c + from * c_col;
        }
        dst_gemm_part_$S(env, &g);
    }
}
