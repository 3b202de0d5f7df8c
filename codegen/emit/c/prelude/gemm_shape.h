/* Lets the compiler fuse products and sums of vectors in a function; makes it compile a function quickly. */
#ifdef __clang__
#define DST_FUSED
#define DST_QUICK __attribute__((optnone, noinline))
#else
#define DST_FUSED __attribute__((optimize("fp-contract=fast")))
#define DST_QUICK __attribute__((optimize("O0")))
#endif
/* The bytes of a vector register; the rows of a tile of sums that stays in registers, and the vectors of a row, of
 * real and of complex numbers, whose parts have a vector each. */
#if defined(__AVX512F__)
enum { dst_vector = 64, dst_real_rows = 8, dst_real_vectors = 3, dst_complex_rows = 12 };
#elif defined(__AVX__)
enum { dst_vector = 32, dst_real_rows = 6, dst_real_vectors = 2, dst_complex_rows = 6 };
#else
enum { dst_vector = 16, dst_real_rows = 6, dst_real_vectors = 2, dst_complex_rows = 6 };
#endif
/* How many terms the sums of a tile have before they are added to memory: the rows of a panel of B, as wide as the
 * tile, that stay in a first-level cache. How many rows of A stay in a second-level cache, a multiple of those of
 * all tiles, and how many columns of B in the last one. */
enum { dst_depth = 256, dst_some_rows = 240, dst_some_cols = 4096 };
/* The most extents along rows, columns or terms, and the most rows, columns or terms of a block that is packed. */
enum { dst_most_dims = 32, dst_block = 1024, dst_block_terms = 512 };

/* n coordinates of a variable, and its strides in the two matrices that have it. */
typedef struct { int64_t n, p, q; } dst_dim;

/* Rows, columns or terms of matrices: coordinates of count variables, the last of which runs fastest. */
typedef struct { int32_t count; dst_dim dim[dst_most_dims]; } dst_axis;

/* The number of coordinates; 0 where a variable has none. */
static int64_t dst_extent(const dst_axis *x) {
    int64_t n = 1;
    for (int32_t k = 0; k < x->count; k++)
        n *= x->dim[k].n < 1 ? 0 : x->dim[k].n;
    return n;
}

/* An axis of count dimensions: those of one coordinate are left out, those that can be walked as one are
 * joined, and the one with the least stride is last. */
static dst_axis dst_axis_of(const dst_dim *d, int32_t count) {
    dst_axis x = {0, {{0, 0, 0}}};
    for (int32_t k = 0; k < count; k++) {
        if (d[k].n == 1)
            continue;
        int32_t at = x.count++;
        const int64_t least = d[k].p < d[k].q ? d[k].p : d[k].q;
        for (; at > 0; at--) {
            const dst_dim *before = &x.dim[at - 1];
            if ((before->p < before->q ? before->p : before->q) >= least)
                break;
            x.dim[at] = *before;
        }
        x.dim[at] = d[k];
    }
    for (int32_t k = 1; k < x.count;) {
        dst_dim *outer = &x.dim[k - 1], *inner = &x.dim[k];
        if (outer->p != inner->n * inner->p || outer->q != inner->n * inner->q) {
            k++;
            continue;
        }
        inner->n *= outer->n;
        x.count--;
        for (int32_t m = k - 1; m < x.count; m++)
            x.dim[m] = x.dim[m + 1];
    }
    if (x.count == 0)
        x.dim[x.count++] = (dst_dim){1, 1, 1};
    return x;
}

/* The coordinates of an axis without its first dimension, which are those of one coordinate of that. */
static dst_axis dst_inner(const dst_axis *x) {
    dst_axis inner = {x->count - 1, {{0, 0, 0}}};
    for (int32_t k = 0; k < inner.count; k++)
        inner.dim[k] = x->dim[k + 1];
    return inner;
}

/* Whether the first of several dimensions is better a loop around products: what each of these has to pack of the
 * other matrix, which has n coordinates of its own, is no more than would be packed to do without. */
static int dst_loops(const dst_axis *x, int64_t n) {
    if (x->count < 2)
        return 0;
    const int64_t inner = dst_extent(x) / x->dim[0].n;
    return inner >= dst_block || inner >= n;
}

/* Where coordinates from on, count of them, are in the first matrix (second = 0) or in the second one. */
static void dst_places(const dst_axis *x, int second, int64_t from, int64_t count, int64_t *places) {
    int64_t at[dst_most_dims], place = 0;
    for (int32_t k = x->count - 1; k >= 0; k--) {
        at[k] = from % x->dim[k].n;
        from /= x->dim[k].n;
        place += at[k] * (second ? x->dim[k].q : x->dim[k].p);
    }
    for (int64_t i = 0; i < count; i++) {
        places[i] = place;
        for (int32_t k = x->count - 1; k >= 0; k--) {
            const int64_t stride = second ? x->dim[k].q : x->dim[k].p;
            place += stride;
            if (++at[k] < x->dim[k].n)
                break;
            place -= stride * at[k];
            at[k] = 0;
        }
    }
}

/* How many of count places from i on follow one another in memory. */
static inline int64_t dst_run(const int64_t *places, int64_t i, int64_t count) {
    int64_t n = 1;
    while (i + n < count && places[i + n] == places[i] + n)
        n++;
    return n;
}

/* Whether a matrix of these strides is stored by rows, or by columns, as libraries want it. */
static inline int dst_plain(const dst_axis *rows, int64_t row, const dst_axis *cols, int64_t col) {
    return rows->count == 1 && cols->count == 1 && (row == 1 || col == 1);
}
