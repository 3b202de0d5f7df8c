/* Sets a bit, and appends its word to the list where it is the first there. No
 * branch hangs on that: it could not be foretold. */
static inline void dst_mark(int64_t *bits, int32_t *words, int64_t *n, int64_t at) {
    const unsigned long w = (unsigned long)at >> 6;
    const unsigned long was = (unsigned long)bits[w];
    words[*n] = (int32_t)w;
    *n += was == 0;
    bits[w] = (int64_t)(was | 1UL << (at & 63));
}

/* Appends the numbers of the bits of word w, which it clears, to a list of n:
 * two at a time, since most words have few, behind which nothing counts. */
static inline int64_t dst_bitmap_word(int32_t *list, int64_t n, int64_t *bits, int64_t w, int64_t base) {
    unsigned long x = (unsigned long)bits[w];
    bits[w] = 0;
    const int64_t end = n + __builtin_popcountll(x);
    base += w * 64;
    do {
        list[n] = (int32_t)(base + __builtin_ctzl(x));
        x &= x - 1;
        list[n + 1] = (int32_t)(base + __builtin_ctzl(x | 1UL << 63));
        x &= x - 1;
        n += 2;
    } while (x);
    return end;
}

/* Lists the numbers of the bits that are set in the n words listed, ascending, and
 * clears them. Few words are sorted, but many found by a flag each. */
__attribute__((noinline)) static int64_t dst_bitmap_list(int32_t *list, int32_t *words, int64_t n, int64_t *bits, _Bool *flags, int64_t len, int64_t base) {
    int64_t m = 0;
    if (n <= 32 ? 8 * n <= len : 32 * n <= len) {
        dst_sort_i32(words, 0, n);
        for (int64_t k = 0; k < n; k++)
            m = dst_bitmap_word(list, m, bits, words[k], base);
        return m;
    }
    for (int64_t k = 0; k < n; k++)
        flags[words[k]] = 1;
    for (int64_t w = 0; w < len; w += 64) {
        unsigned long any = 0;
        for (int k = 0; k < 8; k++) { /* a bit for each flag */
            unsigned long eight;
            __builtin_memcpy(&eight, flags + w + 8 * k, 8);
            any |= (eight * 0x0102040810204080UL >> 56) << (8 * k);
        }
        if (!any)
            continue;
        __builtin_memset(flags + w, 0, 64);
        do {
            m = dst_bitmap_word(list, m, bits, w + __builtin_ctzl(any), base);
            any &= any - 1;
        } while (any);
    }
    return m;
}

static inline int64_t dst_collect(int32_t *list, int32_t *words, int64_t n, int64_t *bits, _Bool *flags, int64_t len, int64_t base) {
    return n == 0 ? 0 : dst_bitmap_list(list, words, n, bits, flags, len, base);
}
