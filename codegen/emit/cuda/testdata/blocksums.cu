// The kernels of blocksums.

__device__ __forceinline__ long long dst_min_i64(long long x, long long y) { return y < x ? y : x; }

/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ double dst_warp_sum_f64(double x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

/* *a += x, atomically. Where all lanes of the warp add to one place, one adds their sum.
 * All lanes that __activemask names executed it together: where it names all 32, all 32 go
 * on to the vote and to the sum. Where it names fewer, lanes add one by one and wait for none. */
__device__ __forceinline__ void dst_atomic_add_f64(double *a, double x) {
    if (__activemask() == 0xffffffffu) {
        int same;
        __match_all_sync(0xffffffffu, (unsigned long long)a, &same);
        if (same) {
            const double sum = dst_warp_sum_f64((double)x);
            if (threadIdx.x % 32 == 0)
                atomicAdd((double *)a, sum);
            return;
        }
    }
    atomicAdd((double *)a, (double)x);
}

// (n + 255) / 256 blocks of 128 threads.
extern "C" __global__ void __launch_bounds__(128)
blocksums_1(const double *__restrict__ x, double *__restrict__ sums, double *__restrict__ total, long long n) {
    const long long block = blockIdx.x;
    const long long thread = threadIdx.x;
    __shared__ double part[4];
    const long long lo = block * 256;
    double s = 0.0;
    for (long long p = lo + thread; p < dst_min_i64(lo + 256, n); p += 128) {
        s += x[p];
    }
    double other = 0.0;
#pragma unroll 5
    for (long long r = 0; r < 5; r++) {
        other = __shfl_xor_sync(0xffffffffu, s, 16);
        other = __shfl_xor_sync(0xffffffffu, s, 1);
    }
    other = __shfl_xor_sync(0xffffffffu, s, 16);
    s += other;
    other = __shfl_xor_sync(0xffffffffu, s, 8);
    s += other;
    other = __shfl_xor_sync(0xffffffffu, s, 4);
    s += other;
    other = __shfl_xor_sync(0xffffffffu, s, 2);
    s += other;
    other = __shfl_xor_sync(0xffffffffu, s, 1);
    s += other;
    if (thread % 32 == 0) {
        part[thread / 32] = s;
    }
    __syncthreads();
    if (thread == 0) {
        double all = part[0];
#pragma unroll 3
        for (long long w = 1; w < 4; w++) {
            all += part[w];
        }
        sums[block] = all;
        dst_atomic_add_f64(&total[0], all);
    }
}
