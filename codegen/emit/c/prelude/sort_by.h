/* Orders perm[lo : hi] by the tuples of keys, stably: radix sort, least key
 * first. As many keys at a time as fit are packed into one of 64 bits, by the
 * ranges of their values. A few are sorted on the stack. Returns 0, or 1 without
 * memory. */
#define DST_SORT_FEW 128
typedef struct {
    unsigned long long key;
    int64_t at;
} dst_tuple;

static inline int dst_width(unsigned long long range) { return range == 0 ? 0 : 64 - __builtin_clzll(range); }

/* Sorts the tuples by key through the buffer; the result is what it returns. */
static dst_tuple *dst_sort_tuples(dst_tuple *from, dst_tuple *to, int64_t n, int bits) {
    if (n <= 32) {
        for (int64_t i = 1; i < n; i++) {
            const dst_tuple x = from[i];
            int64_t j = i;
            for (; j > 0 && x.key < from[j - 1].key; j--)
                from[j] = from[j - 1];
            from[j] = x;
        }
        return from;
    }
    for (int shift = 0; shift < bits; shift += 8) {
        int64_t start[257];
        for (int d = 0; d < 257; d++)
            start[d] = 0;
        for (int64_t i = 0; i < n; i++)
            start[((from[i].key >> shift) & 255) + 1]++;
        for (int d = 1; d < 256; d++)
            start[d] += start[d - 1];
        for (int64_t i = 0; i < n; i++)
            to[start[(from[i].key >> shift) & 255]++] = from[i];
        dst_tuple *const swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static int dst_sort_by(dst_env *env, int64_t *perm, int64_t lo, int64_t hi, const int64_t *const *keys, int nkeys) {
    const int64_t n = hi - lo;
    if (n < 2)
        return 0;
    perm += lo;
    dst_tuple few[2 * DST_SORT_FEW];
    dst_tuple *const buffer = n <= DST_SORT_FEW ? few : dst_alloc(env, 2 * n, sizeof(dst_tuple), 0);
    if (!buffer)
        return 1;
    for (int last = nkeys - 1; last >= 0;) {
        dst_tuple *from = buffer;
        for (int64_t i = 0; i < n; i++) {
            from[i].key = 0;
            from[i].at = perm[i];
        }
        int bits = 0;
        do {
            const int64_t *const k = keys[last];
            int64_t least = k[perm[0]], most = least;
            for (int64_t i = 1; i < n; i++) {
                const int64_t x = k[perm[i]];
                least = x < least ? x : least;
                most = x > most ? x : most;
            }
            const int width = dst_width((unsigned long long)most - (unsigned long long)least);
            if (bits + width > 64)
                break;
            if (width > 0)
                for (int64_t i = 0; i < n; i++)
                    from[i].key |= ((unsigned long long)k[perm[i]] - (unsigned long long)least) << bits;
            bits += width;
            last--;
        } while (last >= 0);
        from = dst_sort_tuples(from, buffer + n, n, bits);
        for (int64_t i = 0; i < n; i++)
            perm[i] = from[i].at;
    }
    if (buffer != few)
        dst_release(env, buffer, 2 * n, sizeof(dst_tuple));
    return 0;
}
