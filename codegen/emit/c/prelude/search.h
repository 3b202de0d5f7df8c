/* The first p in [lo, hi) with a[p] >= key, or hi. */
static inline int64_t dst_search_$S(const $T *a, int64_t lo, int64_t hi, int64_t key) {
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (a[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
