// The kernels of searches.

/* The first p in [lo, hi) with a[p] >= key, or hi. */
__device__ __forceinline__ long long dst_search_i32(const int *a, long long lo, long long hi, long long key) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (a[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first p in [lo, hi) with a[p] >= key, or hi. */
__device__ __forceinline__ long long dst_search_i64(const long long *a, long long lo, long long hi, long long key) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (a[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first p in [lo, hi) with a[p] > key, or hi. */
__device__ __forceinline__ long long dst_search_upper_i32(const int *a, long long lo, long long hi, long long key) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (a[mid] <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first p in [lo, hi) with a[p] > key, or hi. */
__device__ __forceinline__ long long dst_search_upper_i64(const long long *a, long long lo, long long hi, long long key) {
    while (lo < hi) {
        const long long mid = lo + (hi - lo) / 2;
        if (a[mid] <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// (n + 31) / 32 blocks of 32 threads.
extern "C" __global__ void __launch_bounds__(32)
searches_1(long long *__restrict__ first, const int *__restrict__ pos, const long long *__restrict__ crd,
        long long *__restrict__ above, long long n, long long m) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    const long long k = b * 32 + t;
    if (k < n) {
        first[k] = dst_search_i32(pos, 0, m, k * 2) * 1000 + dst_search_i64(crd, 1, m - 1, k * 3 - 20);
        above[k] = dst_search_upper_i32(pos, 0, m, k * 2) * 1000 + dst_search_upper_i64(crd, 1, m - 1, k * 3 - 20);
    }
}
