// The kernels of streams.

/* *p, which is not read again: it does not displace other data in the caches. */
__device__ __forceinline__ int dst_stream_i32(const int *p) {
#if defined DST_EMULATED
    return *p;
#elif __CUDA_ARCH__ < 800
    return __ldcs(p);
#else
    unsigned long long policy;
    int x;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(x) : "l"(p), "l"(policy));
    return x;
#endif
}

/* *p, which is not read again: it does not displace other data in the caches. */
__device__ __forceinline__ double dst_stream_f64(const double *p) {
#if defined DST_EMULATED
    return *p;
#elif __CUDA_ARCH__ < 800
    return __ldcs(p);
#else
    unsigned long long policy;
    double x;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(x) : "l"(p), "l"(policy));
    return x;
#endif
}

/* The number of threads that a multiprocessor can hold. Kernels that wait for memory need them all. */
#if __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1200
#define DST_RESIDENT 2048
#else
#define DST_RESIDENT 1024
#endif

// 2 blocks of 64 threads.
extern "C" __global__ void __launch_bounds__(64, DST_RESIDENT / 64)
streams_1(double *__restrict__ y, const double *__restrict__ vals, const double *__restrict__ x,
        const int *__restrict__ crd, double *z, const int *__restrict__ pos) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    const long long from = b * 128;
#pragma unroll 2
    for (long long u = 0; u < 2; u++) {
        const long long p = from + u * 64 + t;
        y[p] = dst_stream_f64(&vals[p]) * x[dst_stream_i32(&crd[p])];
    }
    for (long long w = 0; w < 2; w++) {
        z[b * 128 + w * 64 + t] = vals[from + t] + x[w];
    }
    for (long long w = 0; w < 2; w++) {
        z[b * 128 + w * 64 + t] += vals[from + t * 2 + w] + (double)pos[b];
    }
}
