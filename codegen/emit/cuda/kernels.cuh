// Kernels that every leaf may use: to fill an array, and to add up an array's elements.

#define DST_FILL(NAME, TYPE)                                                                           \
    extern "C" __global__ void __launch_bounds__(256) NAME(TYPE *__restrict__ a, long long n, TYPE x) { \
        const long long threads = gridDim.x * 256LL;                                                   \
        for (long long k = blockIdx.x * 256LL + threadIdx.x; k < n; k += threads)                      \
            a[k] = x;                                                                                  \
    }

struct __align__(16) dst_pair { unsigned long long x, y; };

DST_FILL(dst_fill_1, unsigned char)
DST_FILL(dst_fill_4, unsigned int)
DST_FILL(dst_fill_8, unsigned long long)
DST_FILL(dst_fill_16, dst_pair)

// The sum of x over this thread and those before it in its block of 256, whose sum becomes total.
// All threads of the block call it.
template <class T> __device__ __forceinline__ T dst_scan_block(T x, T &total) {
    __shared__ T sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, x, step);
        if (lane >= step)
            x += before;
    }
    __syncthreads();
    if (lane == 31)
        sums[warp] = x;
    __syncthreads();
    T before = 0;
    total = 0;
    for (int w = 0; w < 8; w++) {
        if (w < warp)
            before += sums[w];
        total += sums[w];
    }
    return x + before;
}

// Each block's sum of its 4096 elements.
template <class T> __device__ __forceinline__ void dst_scan_sums(const T *a, long long n, T *sums) {
    const long long lo = blockIdx.x * 4096LL;
    T x = 0, total;
    for (int k = threadIdx.x; k < 4096 && lo + k < n; k += 256)
        x += a[lo + k];
    dst_scan_block(x, total);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

// Replaces the n sums by those of the ones before each. One block runs it.
template <class T> __device__ __forceinline__ void dst_scan_offsets(T *sums, long long n) {
    T carry = 0;
    for (long long lo = 0; lo < n; lo += 256) {
        const long long k = lo + threadIdx.x;
        const T x = k < n ? sums[k] : 0;
        T total;
        const T upto = dst_scan_block(x, total);
        if (k < n)
            sums[k] = carry + upto - x;
        carry += total;
    }
}

// Each block's 4096 elements become their sums from element 0 on.
template <class T> __device__ __forceinline__ void dst_scan_add(T *a, long long n, const T *sums) {
    const long long lo = blockIdx.x * 4096LL;
    T carry = sums[blockIdx.x];
    for (int from = 0; from < 4096 && lo + from < n; from += 256) {
        const long long k = lo + from + threadIdx.x;
        const T x = k < n ? a[k] : 0;
        T total;
        const T upto = dst_scan_block(x, total);
        if (k < n)
            a[k] = carry + upto;
        carry += total;
    }
}

// Unsigned, as sums wrap.
#define DST_SCAN(BITS, TYPE)                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) dst_scan_sums_##BITS(TYPE *a, long long n, TYPE *sums) {   \
        dst_scan_sums(a, n, sums);                                                                               \
    }                                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) dst_scan_offsets_##BITS(TYPE *sums, long long n) {         \
        dst_scan_offsets(sums, n);                                                                               \
    }                                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) dst_scan_add_##BITS(TYPE *a, long long n, TYPE *sums) {    \
        dst_scan_add(a, n, sums);                                                                                \
    }

DST_SCAN(32, unsigned int)
DST_SCAN(64, unsigned long long)
