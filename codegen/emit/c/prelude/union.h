typedef struct {
    const int32_t *crd;
    const $T *vals;
    int64_t at, end;
    $T factor;
} dst_segment_$S;

/* How many of two or three segments have elements left. */
static inline int dst_left_$S(const int of, const dst_segment_$S *s) {
    return (s[0].at < s[0].end) + (s[1].at < s[1].end) + (of == 3 && s[2].at < s[2].end);
}

#if defined __AVX512F__ && !defined __clang__
typedef $T dst_values_$S __attribute__((vector_size(64)));
typedef $I dst_indices_$S __attribute__((vector_size(64)));

/* The lanes of a window of values, of 16 or more that a mask is of. */
DST_WINDOW unsigned dst_mask_$S(unsigned long in, int window) {
    const int lanes = 64 / sizeof($T);
    return (unsigned)(in >> lanes * window) & ((1u << lanes) - 1);
}

/* Takes the next window of each segment: up to 16 elements, but none behind the last one of a window that has more behind it. Their
 * values times the factors are in value, 16 for each segment. A key is a coordinate, in its upper 26 bits, and the number of its value.
 * How many there are; none where the coordinates have more bits. */
DST_WINDOW int dst_take_$S(const int of, dst_segment_$S *s, dst_window *key, dst_values_$S *value) {
    const dst_window none = {0}, lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int lanes = 64 / sizeof($T), parts = 16 / lanes;
    int32_t last = (1 << 26) - 2; /* what has no value has the greatest key */
    for (int k = 0; k < of; k++)
        if (s[k].end - s[k].at > 16 && s[k].crd[s[k].at + 15] < last)
            last = s[k].crd[s[k].at + 15];
    int all = 0;
    for (int k = 0; k < of; k++) {
        const int64_t left = s[k].end - s[k].at;
        const unsigned there = 0xffffu >> (left < 16 ? 16 - left : 0);
        const dst_window c = dst_load_window(s[k].crd + s[k].at, there, 4);
        const unsigned in = (unsigned short)__builtin_ia32_cmpd512_mask(c, last - none, 2, (unsigned short)there);
        key[k] = dst_blend(none - 1, c << 6 | (lane + 16 * k), in, 4);
        for (int p = 0; p < parts; p++)
            value[parts * k + p] = s[k].factor * (dst_values_$S)dst_load_window(s[k].vals + s[k].at + lanes * p, dst_mask_$S(in, p), sizeof($T));
        s[k].at += __builtin_popcount(in);
        all += __builtin_popcount(in);
    }
    return all;
}

/* Brings the values into the order of their keys. */
DST_WINDOW void dst_arrange_$S(const int of, int all, const dst_window *key, const dst_values_$S *value, dst_values_$S *to) {
    const dst_window none = {0}, pairs = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    const int lanes = 64 / sizeof($T), parts = 16 / lanes;
    for (int q = 0; q < of * parts; q++) {
        if (q >= 2 * parts && all <= 32) { /* as it mostly is where segments are short */
            to[q] = value[0];
            continue;
        }
        const dst_window k = key[q / parts];
        const dst_indices_$S place = (dst_indices_$S)(parts == 1 ? k : __builtin_shuffle(k, pairs + q % 2 * 8));
        to[q] = __builtin_shuffle(value[0], value[parts - 1], place);
        for (int m = 1; m < of; m++) {
            const unsigned in = (unsigned short)__builtin_ia32_ptestmd512(k, none + 16 * m, 0xffff);
            const dst_values_$S other = __builtin_shuffle(value[parts * m], value[parts * m + parts - 1], place);
            to[q] = (dst_values_$S)dst_blend((dst_window)to[q], (dst_window)other, dst_mask_$S(in, q % parts), sizeof($T));
        }
    }
}

/* Appends windows of the segments, until fewer than two have elements left or coordinates have more than 26 bits: the keys
 * sorted, those of one coordinate are in the order in which their values are added. */
DST_WINDOW int64_t dst_union_windows_$S(const int of, int32_t *crd, $T *vals, int64_t n, dst_segment_$S *s) {
    const dst_window none = {0}, lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const dst_indices_$S next = (dst_indices_$S)(sizeof($T) == 4 ? lane + 1 : (dst_window)(dst_window_8){1, 2, 3, 4, 5, 6, 7, 8});
    const int lanes = 64 / sizeof($T), windows = of * 16 / lanes;
    while (dst_left_$S(of, s) > 1) {
        dst_window key[3], c[3], before = none - 1;
        dst_values_$S value[3 * 16 / lanes], v[3 * 16 / lanes + 1];
        const int all = dst_take_$S(of, s, key, value);
        if (all == 0)
            break;
        dst_sort_windows(of, key);
        dst_arrange_$S(of, all, key, value, v);
        unsigned long again = 0; /* those of the same coordinate as the one before */
        for (int k = 0; k < of; k++) {
            c[k] = (dst_window)((dst_keys)key[k] >> 6);
            before = __builtin_shuffle(before, c[k], lane + 15);
            const unsigned short same = (unsigned short)__builtin_ia32_cmpd512_mask(before, c[k], 0, 0xffff);
            again |= same * (1ul << 16 * k); /* shifted, gcc 12 loses bits of it under -O1 -fsanitize=undefined */
            before = c[k];
        }
        const unsigned long there = (1ul << all) - 1;
        again &= there;
        if (__builtin_expect(again == 0, 1)) {
            for (int k = 0; k < of; k++)
                dst_store_window(crd + n + 16 * k, c[k], (unsigned short)(there >> 16 * k), 4);
            for (int q = 0; q < windows; q++)
                if (q < 32 / lanes || all > 32)
                    dst_store_window(vals + n + lanes * q, (dst_window)v[q], dst_mask_$S(there, q), sizeof($T));
            n += all;
            continue;
        }
        const unsigned long first = there & ~again, second = again >> 1 & first, third = again >> 2 & second;
        int64_t at = n;
        for (int k = 0; k < of; k++)
            at += dst_store_some(crd + at, c[k], (unsigned short)(first >> 16 * k), 4);
        v[windows] = v[0];
        for (int q = 0; q < windows; q++) {
            const dst_values_$S two = v[q] + __builtin_shuffle(v[q], v[q + 1], next);
            dst_window sum = dst_blend((dst_window)v[q], (dst_window)two, dst_mask_$S(second, q), sizeof($T));
            if (of == 3)
                sum = dst_blend(sum, (dst_window)(two + __builtin_shuffle(v[q], v[q + 1], next + 1)), dst_mask_$S(third, q), sizeof($T));
            n += dst_store_some(vals + n, sum, dst_mask_$S(first, q), sizeof($T));
        }
    }
    return n;
}
#endif

/* Appends a coordinate after the other, as long as each of the segments has elements left, without a branch on what they are. */
static inline __attribute__((always_inline)) int64_t dst_union_steps_$S(const int of, int32_t *crd, $T *vals, int64_t n, dst_segment_$S *s) {
    for (; s[0].at < s[0].end && s[1].at < s[1].end && (of < 3 || s[2].at < s[2].end); n++) {
        int32_t c = s[0].crd[s[0].at];
        for (int k = 1; k < of; k++)
            c = s[k].crd[s[k].at] < c ? s[k].crd[s[k].at] : c;
        $T sum = ($T)-0.0;
        for (int k = 0; k < of; k++) {
            const _Bool there = s[k].crd[s[k].at] == c;
            sum += dst_select_one_$S(there, s[k].factor * s[k].vals[s[k].at], ($T)-0.0);
            s[k].at += there;
        }
        crd[n] = c;
        vals[n] = sum;
    }
    return n;
}

/* Appends the coordinates of two or three ascending segments to crd from n on, ascending, with the sums of their values, times
 * a factor each, and returns the place behind the last. The first segment may lie in crd and vals, from n and the lengths of the others
 * on: what is written does not come to where it is yet to be read. */
static inline __attribute__((always_inline)) int64_t dst_union_$S(const int of, int32_t *crd, $T *vals, int64_t n, dst_segment_$S *s) {
#if defined __AVX512F__ && !defined __clang__
    n = dst_union_windows_$S(of, crd, vals, n, s);
#endif
    if (of == 3) {
        n = dst_union_steps_$S(3, crd, vals, n, s);
        if (s[0].at == s[0].end) { /* the other two go on, in their order */
            s[0] = s[1];
            s[1].at = s[1].end;
        }
        if (s[1].at == s[1].end) {
            s[1] = s[2];
            s[2].at = s[2].end;
        }
    }
    n = dst_union_steps_$S(2, crd, vals, n, s);
#pragma GCC unroll 3
    for (int k = 0; k < of; k++)
        for (; s[k].at < s[k].end; s[k].at++, n++) {
            crd[n] = s[k].crd[s[k].at];
            vals[n] = s[k].factor * s[k].vals[s[k].at];
        }
    return n;
}
