typedef $P dst_lanes_$S __attribute__((vector_size(dst_vector)));
/* Numbers of an element, lanes of a vector, and a tile of sums: its rows, the vectors of a row, its columns. */
enum {
    dst_parts_$S = (int)(sizeof($T) / sizeof($P)),
    dst_lanes_of_$S = dst_vector / (int)sizeof($P),
    dst_tile_rows_$S = dst_parts_$S == 1 ? dst_real_rows : dst_complex_rows,
    dst_tile_vectors_$S = dst_parts_$S == 1 ? dst_real_vectors : 2,
    dst_tile_cols_$S = dst_tile_vectors_$S * dst_vector / (int)sizeof($T)
};

/* sums = a*b for panels a and b of as many rows and columns as a tile, as they are packed. */
DST_FUSED __attribute__((noinline)) static void dst_gemm_tile_$S(int64_t depth, const $P *a, const $P *b, $P *sums) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
    enum { rows = dst_tile_rows_$S, vectors = dst_tile_vectors_$S, lanes = dst_lanes_of_$S };
    dst_lanes_$S s[rows][vectors] = {{{0}}};
    for (int64_t l = 0; l < depth; l++, a += rows * dst_parts_$S, b += vectors * lanes) {
        dst_lanes_$S x[vectors];
#pragma GCC unroll 3
        for (int q = 0; q < vectors; q++)
            x[q] = *(const dst_lanes_$S *)(b + q * lanes);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
$L
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int q = 0; q < vectors; q++)
            *(dst_lanes_$S *)(sums + (r * vectors + q) * lanes) = s[r][q];
}

/* Adds the first rows and cols of a tile of sums to c. */
static inline void dst_gemm_add_$S(const $P *sums, int64_t rows, int64_t cols, $T *c, int64_t c_row, int64_t c_col) {
    for (int64_t r = 0; r < rows; r++, sums += dst_tile_cols_$S * dst_parts_$S)
        for (int64_t q = 0; q < cols; q++)
            c[r * c_row + q * c_col] += $V;
}

/* Packs rows [i, i + rows) of terms [l, l + depth) of a into panels, with 0 past the last row. */
static void dst_gemm_pack_a_$S(const dst_gemm *g, int64_t i, int64_t rows, int64_t l, int64_t depth, $P *to) {
    const $T *a = (const $T *)g->a + i * g->a_row + l * g->a_col;
    for (int64_t from = 0; from < rows; from += dst_tile_rows_$S, to += depth * dst_tile_rows_$S * dst_parts_$S)
        for (int64_t r = 0; r < dst_tile_rows_$S; r++)
            for (int64_t k = 0; k < depth; k++) {
                const $T x = from + r < rows ? a[(from + r) * g->a_row + k * g->a_col] : 0;
                __builtin_memcpy(to + (k * dst_tile_rows_$S + r) * dst_parts_$S, &x, sizeof x);
            }
}

/* Packs alpha times columns [j, j + cols) of terms [l, l + depth) of b into panels, with 0 past the last column. */
static void dst_gemm_pack_b_$S(const dst_gemm *g, int64_t j, int64_t cols, int64_t l, int64_t depth, $P *to) {
    const $T alpha = *(const $T *)g->alpha;
    const $T *b = (const $T *)g->b + l * g->b_row + j * g->b_col;
    enum { n = dst_tile_cols_$S };
    for (int64_t from = 0; from < cols; from += n)
        for (int64_t k = 0; k < depth; k++, to += n * dst_parts_$S)
            for (int64_t q = 0; q < n; q++) {
                const $T x = from + q < cols ? $X(alpha, b[k * g->b_row + (from + q) * g->b_col]) : 0;
$B
            }
}

/* Computes g by tiles of panels: of B some columns of as many terms as tiles have, of A some rows of these.
 * Returns 1 where there is no memory for them. */
static int dst_gemm_loops_$S(dst_env *env, const dst_gemm *g) {
    enum { tall = dst_tile_rows_$S, cols = dst_tile_cols_$S, parts = dst_parts_$S };
    const int64_t wide = g->n < dst_some_cols ? g->n : dst_some_cols, most = g->k < dst_depth ? g->k : dst_depth;
    const int64_t size = ((wide + cols - 1) / cols * cols + dst_some_rows) * most * parts + dst_vector;
    $P *memory = dst_alloc(env, size, sizeof($P), 0);
    if (!memory)
        return 1;
    $P *b = ($P *)(((__UINTPTR_TYPE__)memory + dst_vector - 1) / dst_vector * dst_vector);
    $P sums[tall * cols * parts] __attribute__((aligned(dst_vector)));
    for (int64_t j = 0; j < g->n; j += wide)
        for (int64_t l = 0; l < g->k; l += dst_depth) {
            const int64_t width = g->n - j < wide ? g->n - j : wide, depth = g->k - l < dst_depth ? g->k - l : dst_depth;
            $P *a = b + (width + cols - 1) / cols * cols * depth * parts;
            dst_gemm_pack_b_$S(g, j, width, l, depth, b);
            for (int64_t i = 0; i < g->m; i += dst_some_rows) {
                const int64_t height = g->m - i < dst_some_rows ? g->m - i : dst_some_rows;
                dst_gemm_pack_a_$S(g, i, height, l, depth, a);
                for (int64_t q = 0; q < width; q += cols)
                    for (int64_t r = 0; r < height; r += tall) {
                        $T *c = ($T *)g->c + (i + r) * g->c_row + (j + q) * g->c_col;
                        const int64_t rows = height - r < tall ? height - r : tall, left = width - q < cols ? width - q : cols;
                        if (g->c_col == 1)
                            for (int64_t x = 0; x < rows; x++)
                                for (int64_t y = 0; y < left; y += 64 / (int64_t)sizeof($T))
                                    __builtin_prefetch(c + x * g->c_row + y, 1);
                        dst_gemm_tile_$S(depth, a + r * depth * parts, b + q * depth * parts, sums);
                        if (left == cols && g->c_col == 1)
                            dst_gemm_add_$S(sums, rows, cols, c, g->c_row, 1);
                        else
                            dst_gemm_add_$S(sums, rows, left, c, g->c_row, g->c_col);
                    }
            }
        }
    dst_release(env, memory, size, sizeof($P));
    return 0;
}

/* Adds alpha*a*b to c, as g has it, by env's function where that takes the matrices. Returns 1 where there is no memory. */
static int dst_gemm_one_$S(dst_env *env, const dst_gemm *g) {
    return env->gemm && env->gemm(env, g) ? 0 : dst_gemm_loops_$S(env, g);
}

/* A product of matrices over axes: rows has their strides in a and c, cols in b and c, terms in a and b. */
typedef struct {
    dst_axis rows, cols, terms;
    const $T *alpha, *a, *b;
    $T *c;
} dst_product_$S;

/* Copies a block of a matrix, whose elements are from[row[i] + col[j]], so that neighbours of to are
 * those of the axis along which neighbours are read. Returns 1 where those are of a column. */
static int dst_gemm_gather_$S($T *to, const $T *from, const int64_t *row, int64_t rows, const int64_t *col, int64_t cols) {
    const int down = rows > 1 && row[1] == row[0] + 1;
    const int64_t *outer = down ? col : row, *inner = down ? row : col, n = down ? cols : rows, m = down ? rows : cols;
    for (int64_t i = 0; i < m;) {
        const int64_t run = dst_run(inner, i, m);
        for (int64_t k = 0; k < n; k++)
            for (int64_t q = 0; q < run; q++)
                to[k * m + i + q] = from[outer[k] + inner[i] + q];
        i += run;
    }
    return down;
}

/* Adds a block to places of c. */
static void dst_gemm_scatter_$S($T *c, const $T *block, const int64_t *row, int64_t rows, const int64_t *col, int64_t cols) {
    for (int64_t j = 0; j < cols;) {
        const int64_t run = dst_run(col, j, cols);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t q = 0; q < run; q++)
                c[row[i] + col[j] + q] += block[i * cols + j + q];
        j += run;
    }
}

static int dst_gemm_box_$S(dst_env *env, const dst_product_$S *p, int64_t i, int64_t m, int64_t j, int64_t n);

/* Computes rows [i, i + m) and columns [j, j + n) of p, product by product for each coordinate of the first dimension
 * of rows (axis = 0), of cols (1) or of terms (2). Returns 1 where there is no memory. */
static int dst_gemm_each_$S(dst_env *env, const dst_product_$S *p, int axis, int64_t i, int64_t m, int64_t j, int64_t n) {
    const dst_axis *x = axis == 0 ? &p->rows : axis == 1 ? &p->cols : &p->terms;
    const dst_axis inner = dst_inner(x);
    const int64_t size = dst_extent(&inner), from = axis == 0 ? i : axis == 1 ? j : 0, to = axis == 0 ? i + m : axis == 1 ? j + n : dst_extent(x);
    dst_product_$S q = *p;
    *(axis == 0 ? &q.rows : axis == 1 ? &q.cols : &q.terms) = inner;
    for (int64_t at = from; at < to;) {
        const int64_t outer = at / size, begin = at % size, count = (outer + 1) * size < to ? size - begin : to - at;
        const int64_t first = outer * x->dim[0].p, second = outer * x->dim[0].q;
        q.a = p->a + (axis == 1 ? 0 : first);
        q.b = p->b + (axis == 0 ? 0 : axis == 1 ? first : second);
        q.c = p->c + (axis == 2 ? 0 : second);
        if (dst_gemm_box_$S(env, &q, axis == 0 ? begin : i, axis == 0 ? count : m, axis == 1 ? begin : j, axis == 1 ? count : n))
            return 1;
        at += count;
    }
    return 0;
}

/* Computes rows [i, i + m) and columns [j, j + n) of p: of matrices that are stored by rows or columns
 * as they lie, of others by blocks that are packed so. Returns 1 where there is no memory. */
static int dst_gemm_box_$S(dst_env *env, const dst_product_$S *p, int64_t i, int64_t m, int64_t j, int64_t n) {
    const dst_dim r = p->rows.dim[0], s = p->cols.dim[0], t = p->terms.dim[0];
    const int64_t k = dst_extent(&p->terms);
    const int plain_a = dst_plain(&p->rows, r.p, &p->terms, t.p), plain_b = dst_plain(&p->terms, t.q, &p->cols, s.p);
    const int plain_c = dst_plain(&p->rows, 0, &p->cols, s.q);
    if (m < 1 || n < 1)
        return 0;
    if (plain_a && plain_b && plain_c) {
        const dst_gemm g = {$K, m, n, k, p->alpha, p->a + i * r.p, r.p, t.p, p->b + j * s.p, t.q, s.p, p->c + i * r.q + j * s.q, r.q, 1};
        return dst_gemm_one_$S(env, &g);
    }
    if (dst_loops(&p->rows, n))
        return dst_gemm_each_$S(env, p, 0, i, m, j, n);
    if (dst_loops(&p->cols, m))
        return dst_gemm_each_$S(env, p, 1, i, m, j, n);
    if (p->terms.count > 1 && k / p->terms.dim[0].n >= dst_block_terms)
        return dst_gemm_each_$S(env, p, 2, i, m, j, n);
    const int64_t most_m = m < dst_block ? m : dst_block, most_n = n < dst_block ? n : dst_block, most_k = k < dst_block_terms ? k : dst_block_terms;
    const int64_t size = most_m * most_k + most_k * most_n + most_m * most_n, places = 2 * (most_m + most_n + most_k);
    $T *a = dst_alloc(env, size, sizeof($T), 0);
    int64_t *row_a = dst_alloc(env, places, sizeof(int64_t), 0);
    int fails = 0;
    if (!a || !row_a) {
        dst_release(env, a, size, sizeof($T));
        dst_release(env, row_a, places, sizeof(int64_t));
        return 1;
    }
    $T *b = a + most_m * most_k, *c = b + most_k * most_n;
    int64_t *row_c = row_a + most_m, *col_b = row_c + most_m, *col_c = col_b + most_n, *term_a = col_c + most_n, *term_b = term_a + most_k;
    for (int64_t x = 0; x < m && !fails; x += dst_block)
        for (int64_t y = 0; y < n && !fails; y += dst_block) {
            dst_gemm g = {$K, m - x < most_m ? m - x : most_m, n - y < most_n ? n - y : most_n, 0, p->alpha, 0, 0, 0, 0, 0, 0, 0, 0, 1};
            dst_places(&p->rows, 0, i + x, g.m, row_a), dst_places(&p->rows, 1, i + x, g.m, row_c);
            dst_places(&p->cols, 0, j + y, g.n, col_b), dst_places(&p->cols, 1, j + y, g.n, col_c);
            g.c = c, g.c_row = g.n;
            if (plain_c)
                g.c = p->c + row_c[0] + col_c[0], g.c_row = r.q;
            else
                __builtin_memset(c, 0, (__SIZE_TYPE__)(g.m * g.n) * sizeof($T));
            for (int64_t z = 0; z < k && !fails; z += dst_block_terms) {
                g.k = k - z < most_k ? k - z : most_k;
                dst_places(&p->terms, 0, z, g.k, term_a), dst_places(&p->terms, 1, z, g.k, term_b);
                g.a = p->a + row_a[0] + term_a[0], g.a_row = r.p, g.a_col = t.p;
                if (!plain_a) {
                    const int down = dst_gemm_gather_$S(a, p->a, row_a, g.m, term_a, g.k);
                    g.a = a, g.a_row = down ? 1 : g.k, g.a_col = down ? g.m : 1;
                }
                g.b = p->b + term_b[0] + col_b[0], g.b_row = t.q, g.b_col = s.p;
                if (!plain_b) {
                    const int down = dst_gemm_gather_$S(b, p->b, term_b, g.k, col_b, g.n);
                    g.b = b, g.b_row = down ? 1 : g.n, g.b_col = down ? g.k : 1;
                }
                fails = dst_gemm_one_$S(env, &g);
            }
            if (!plain_c)
                dst_gemm_scatter_$S(p->c, c, row_c, g.m, col_c, g.n);
        }
    dst_release(env, a, size, sizeof($T));
    dst_release(env, row_a, places, sizeof(int64_t));
    return fails;
}

/* Adds alpha*a*b to c. dims has rows, cols and terms of them, in that order, as dst_product has them. Each of
 * up to threads threads computes some rows and columns of c; small products are one thread's. Returns 1
 * where there is no memory. */
static int dst_gemm_$S(dst_env *env, int64_t threads, $T alpha, const $T *a, const $T *b, $T *c, const dst_dim *dims, int32_t rows, int32_t cols, int32_t terms) {
    const dst_product_$S p = {dst_axis_of(dims, rows), dst_axis_of(dims + rows, cols), dst_axis_of(dims + rows + cols, terms), &alpha, a, b, c};
    const int64_t m = dst_extent(&p.rows), n = dst_extent(&p.cols), k = dst_extent(&p.terms);
    if (m < 1 || n < 1 || k < 1)
        return 0;
    int fails = 0;
    int64_t down = 1, across = 1; /* a grid of parts */
    if ((double)m * (double)n * (double)k >= 1 << 18)
        while (down * across < threads) {
            if (m / (down + 1) >= n / (across + 1) && (down + 1) * across <= threads && m / (down + 1) >= 16)
                down++;
            else if (down * (across + 1) <= threads && n / (across + 1) >= 16)
                across++;
            else
                break;
        }
    if (down * across == 1)
        return dst_gemm_box_$S(env, &p, 0, m, 0, n);
#pragma omp parallel for num_threads((int)(down * across)) reduction(| : fails)
    for (int64_t part = 0; part < down * across; part++) {
        const int64_t x = part / across, y = part % across;
        const int64_t i = m * x / down, j = n * y / across;
        fails |= dst_gemm_box_$S(env, &p, i, m * (x + 1) / down - i, j, n * (y + 1) / across - j);
    }
    return fails;
}
