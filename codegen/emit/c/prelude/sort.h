/* Radix sort by the digits in which the elements of [0, n) differ. Up to
 * DST_SORT_BUFFER elements that differ in up to three go digit by digit through a
 * buffer on the stack, least digit first; others are cut in place into as many as
 * 256 buckets by their top digit. */
#ifndef DST_SORT_BUFFER
#define DST_SORT_BUFFER 1024
#endif
static void dst_insertion_$S($T *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const $T x = a[i];
        int64_t j = i;
        for (; j > 0 && x < a[j - 1]; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static void dst_digits_$S($T *a, int64_t n, $T least, int bits) {
    $T buffer[DST_SORT_BUFFER];
    $T *from = a, *to = buffer;
    const int passes = (bits + 7) / 8, width = (bits + passes - 1) / passes;
    const $U mask = (($U)1 << width) - 1;
    for (int pass = 0; pass < passes; pass++) {
        const int shift = pass * width;
        int32_t start[257];
        for ($U d = 0; d <= mask + 1; d++)
            start[d] = 0;
        for (int64_t i = 0; i < n; i++)
            start[(((($U)from[i] - ($U)least) >> shift) & mask) + 1]++;
        for ($U d = 1; d <= mask; d++)
            start[d] += start[d - 1];
        for (int64_t i = 0; i < n; i++)
            to[start[((($U)from[i] - ($U)least) >> shift) & mask]++] = from[i];
        $T *const swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        __builtin_memcpy(a, from, (__SIZE_TYPE__)n * sizeof($T));
}

static void dst_radix_$S($T *a, int64_t n) {
    if (n <= 24) {
        dst_insertion_$S(a, n);
        return;
    }
    $T least = a[0], most = a[0];
    int sorted = 1;
    for (int64_t i = 1; i < n; i++) {
        sorted &= a[i - 1] <= a[i];
        least = a[i] < least ? a[i] : least;
        most = a[i] > most ? a[i] : most;
    }
    if (sorted)
        return;
    const int bits = 64 - __builtin_clzll((unsigned long long)(($U)most - ($U)least));
    if (n <= DST_SORT_BUFFER && bits <= 24) {
        dst_digits_$S(a, n, least, bits);
        return;
    }
    const int width = n >= 1024 ? 8 : 5, shift = bits > width ? bits - width : 0, buckets = 1 << width;
    int64_t next[256], end[256];
    for (int d = 0; d < buckets; d++)
        end[d] = 0;
    for (int64_t i = 0; i < n; i++)
        end[(($U)a[i] - ($U)least) >> shift]++;
    int64_t sum = 0;
    for (int d = 0; d < buckets; d++) {
        next[d] = sum;
        sum += end[d];
        end[d] = sum;
    }
    for (int d = 0; d < buckets; d++) {
        while (next[d] < end[d]) {
            $T x = a[next[d]];
            $U e = (($U)x - ($U)least) >> shift;
            while (e != ($U)d) { /* follow the cycle until it comes back */
                const int64_t p = next[e]++;
                const $T y = a[p];
                a[p] = x;
                x = y;
                e = (($U)x - ($U)least) >> shift;
            }
            a[next[d]++] = x;
        }
    }
    if (shift == 0)
        return;
    int64_t begin = 0;
    for (int d = 0; d < buckets; d++) {
        dst_radix_$S(a + begin, end[d] - begin);
        begin = end[d];
    }
}

/* Sorts a[lo : hi] ascending. */
static inline void dst_sort_$S($T *a, int64_t lo, int64_t hi) {
    if (hi - lo > 1)
        dst_radix_$S(a + lo, hi - lo);
}
