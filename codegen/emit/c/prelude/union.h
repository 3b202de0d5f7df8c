/* Appends the coordinates of two ascending segments to crd from n on, ascending, with the sums of their values, times
 * a factor each, and returns the place behind the last. A coordinate's place is its number in its own segment and how many
 * of the other's are less (comparison counting, Knuth, The Art of Computer Programming, 5.2), which comparisons of 16 at once
 * count where the processor has them. The first segment may lie in crd and vals, from n and the second's length on: the
 * elements of a window are placed in order, none behind where it is read, before those of the second. */
__attribute__((noinline)) static int64_t dst_union_$S(int32_t *crd, $T *vals, int64_t n, const int32_t *a_crd, const $T *a_vals, int64_t a, int64_t a_end, $T a_factor, const int32_t *b_crd, const $T *b_vals, int64_t b, int64_t b_end, $T b_factor) {
#if defined __AVX512F__ && !defined __clang__
    typedef int window __attribute__((vector_size(64)));
    while (a < a_end && b < b_end) {
        const int64_t a_left = a_end - a, b_left = b_end - b;
        /* A window has up to 16 elements; of the two windows those are placed that do not pass the last
         * of one that has more behind it. */
        int32_t last = 2147483647;
        if (a_left > 16)
            last = a_crd[a + 15];
        if (b_left > 16 && b_crd[b + 15] < last)
            last = b_crd[b + 15];
        unsigned short a_in = (unsigned short)(a_left < 16 ? (1u << a_left) - 1 : 0xffff);
        unsigned short b_in = (unsigned short)(b_left < 16 ? (1u << b_left) - 1 : 0xffff);
        const window none = {0}, as = (window)__builtin_ia32_loaddqusi512_mask((const int *)(a_crd + a), none, a_in);
        const window bs = (window)__builtin_ia32_loaddqusi512_mask((const int *)(b_crd + b), none, b_in);
        a_in = (unsigned short)__builtin_ia32_cmpd512_mask(as, last - none, 2, a_in);
        b_in = (unsigned short)__builtin_ia32_cmpd512_mask(bs, last - none, 2, b_in);
        const int a_n = __builtin_popcount(a_in), b_n = __builtin_popcount(b_in);
        unsigned both = 0;
        int64_t at = n;
        for (int k = 0; k < a_n; k++) {
            const int32_t c = a_crd[a + k];
            const $T v = a_factor * a_vals[a + k];
            const window key = c - none;
            const int64_t to = at + k + __builtin_popcount((unsigned short)__builtin_ia32_cmpd512_mask(bs, key, 1, b_in));
            const unsigned same = (unsigned short)__builtin_ia32_cmpd512_mask(bs, key, 0, b_in);
            crd[to] = c;
            vals[to] = v;
            at -= same != 0;
            both |= same;
        }
        at = n;
        for (int k = 0; k < b_n; k++) {
            const int32_t c = b_crd[b + k];
            $T v = b_factor * b_vals[b + k];
            __asm__("" : "+x"(v)); /* no fused multiply-add, which would round otherwise than where loops step */
            const int64_t to = at + k + __builtin_popcount((unsigned short)__builtin_ia32_cmpd512_mask(as, c - none, 1, a_in));
            const _Bool same = both >> k & 1;
            crd[to] = c;
            vals[to] = dst_select_one_$S(same, vals[to], ($T)-0.0) + v;
            at -= same;
        }
        n = at + a_n + b_n;
        a += a_n;
        b += b_n;
    }
#else
    while (a < a_end && b < b_end) {
        const int32_t a_c = a_crd[a], b_c = b_crd[b];
        const _Bool a_at = a_c <= b_c, b_at = b_c <= a_c;
        const $T x = a_factor * a_vals[a], y = b_factor * b_vals[b];
        crd[n] = a_at ? a_c : b_c;
        vals[n] = dst_select_one_$S(a_at, x, ($T)-0.0) + dst_select_one_$S(b_at, y, ($T)-0.0);
        n++;
        a += a_at;
        b += b_at;
    }
#endif
    for (; a < a_end; a++, n++) {
        crd[n] = a_crd[a];
        vals[n] = a_factor * a_vals[a];
    }
    for (; b < b_end; b++, n++) {
        crd[n] = b_crd[b];
        vals[n] = b_factor * b_vals[b];
    }
    return n;
}
