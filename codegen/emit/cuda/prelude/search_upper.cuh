/* The first p in [lo, hi) with a[p] > key, or hi. */
__device__ __forceinline__ long long dst_search_upper_$S(const $T *a, long long lo, long long hi, long long key) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (a[mid] <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
