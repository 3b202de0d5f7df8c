// The kernels of histogram.

struct __align__(8) dst_c64 { float re, im; };
__device__ __forceinline__ dst_c64 operator+(dst_c64 x, dst_c64 y) { dst_c64 z = {x.re + y.re, x.im + y.im}; return z; }
__device__ __forceinline__ dst_c64 operator-(dst_c64 x, dst_c64 y) { dst_c64 z = {x.re - y.re, x.im - y.im}; return z; }
__device__ __forceinline__ dst_c64 operator-(dst_c64 x) { dst_c64 z = {-x.re, -x.im}; return z; }
__device__ __forceinline__ dst_c64 &operator+=(dst_c64 &x, dst_c64 y) { return x = x + y; }
__device__ __forceinline__ bool operator==(dst_c64 x, dst_c64 y) { return x.re == y.re && x.im == y.im; }
__device__ __forceinline__ bool operator!=(dst_c64 x, dst_c64 y) { return !(x == y); }
__device__ __forceinline__ dst_c64 dst_make_c64(float re, float im) { dst_c64 z = {re, im}; return z; }

struct __align__(16) dst_c128 { double re, im; };
__device__ __forceinline__ dst_c128 operator+(dst_c128 x, dst_c128 y) { dst_c128 z = {x.re + y.re, x.im + y.im}; return z; }
__device__ __forceinline__ dst_c128 operator-(dst_c128 x, dst_c128 y) { dst_c128 z = {x.re - y.re, x.im - y.im}; return z; }
__device__ __forceinline__ dst_c128 operator-(dst_c128 x) { dst_c128 z = {-x.re, -x.im}; return z; }
__device__ __forceinline__ dst_c128 &operator+=(dst_c128 &x, dst_c128 y) { return x = x + y; }
__device__ __forceinline__ bool operator==(dst_c128 x, dst_c128 y) { return x.re == y.re && x.im == y.im; }
__device__ __forceinline__ bool operator!=(dst_c128 x, dst_c128 y) { return !(x == y); }
__device__ __forceinline__ dst_c128 dst_make_c128(double re, double im) { dst_c128 z = {re, im}; return z; }

__device__ __forceinline__ dst_c64 dst_mul_c64(dst_c64 x, dst_c64 y) {
    return dst_make_c64(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ unsigned int dst_warp_sum_i32(unsigned int x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ unsigned long long dst_warp_sum_i64(unsigned long long x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ float dst_warp_sum_f32(float x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ double dst_warp_sum_f64(double x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

/* *a += x, atomically. Where all lanes of the warp add to one place, one adds their sum.
 * All lanes that __activemask names executed it together: where it names all 32, all 32 go
 * on to the vote and to the sum. Where it names fewer, lanes add one by one and wait for none. */
__device__ __forceinline__ void dst_atomic_add_i32(int *a, int x) {
    if (__activemask() == 0xffffffffu) {
        int same;
        __match_all_sync(0xffffffffu, (unsigned long long)a, &same);
        if (same) {
            const unsigned int sum = dst_warp_sum_i32((unsigned int)x);
            if (threadIdx.x % 32 == 0)
                atomicAdd((unsigned int *)a, sum);
            return;
        }
    }
    atomicAdd((unsigned int *)a, (unsigned int)x);
}

/* *a += x, atomically. Where all lanes of the warp add to one place, one adds their sum.
 * All lanes that __activemask names executed it together: where it names all 32, all 32 go
 * on to the vote and to the sum. Where it names fewer, lanes add one by one and wait for none. */
__device__ __forceinline__ void dst_atomic_add_i64(long long *a, long long x) {
    if (__activemask() == 0xffffffffu) {
        int same;
        __match_all_sync(0xffffffffu, (unsigned long long)a, &same);
        if (same) {
            const unsigned long long sum = dst_warp_sum_i64((unsigned long long)x);
            if (threadIdx.x % 32 == 0)
                atomicAdd((unsigned long long *)a, sum);
            return;
        }
    }
    atomicAdd((unsigned long long *)a, (unsigned long long)x);
}

/* *a += x, atomically. Where all lanes of the warp add to one place, one adds their sum.
 * All lanes that __activemask names executed it together: where it names all 32, all 32 go
 * on to the vote and to the sum. Where it names fewer, lanes add one by one and wait for none. */
__device__ __forceinline__ void dst_atomic_add_f32(float *a, float x) {
    if (__activemask() == 0xffffffffu) {
        int same;
        __match_all_sync(0xffffffffu, (unsigned long long)a, &same);
        if (same) {
            const float sum = dst_warp_sum_f32((float)x);
            if (threadIdx.x % 32 == 0)
                atomicAdd((float *)a, sum);
            return;
        }
    }
    atomicAdd((float *)a, (float)x);
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

/* A complex number's parts are added one by one. */
__device__ __forceinline__ void dst_atomic_add_c64(dst_c64 *a, dst_c64 x) {
    dst_atomic_add_f32(&a->re, x.re);
    dst_atomic_add_f32(&a->im, x.im);
}

/* A complex number's parts are added one by one. */
__device__ __forceinline__ void dst_atomic_add_c128(dst_c128 *a, dst_c128 x) {
    dst_atomic_add_f64(&a->re, x.re);
    dst_atomic_add_f64(&a->im, x.im);
}

// (n + 95) / 96 blocks of 96 threads.
extern "C" __global__ void __launch_bounds__(96)
histogram_1(const int *__restrict__ bin, long long *__restrict__ h8, float *__restrict__ hf4,
        const double *__restrict__ x, double *__restrict__ hf8, dst_c64 *__restrict__ hc8,
        dst_c128 *__restrict__ hc16, bool *__restrict__ flag, int *__restrict__ h4, long long n) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    __shared__ int count[16];
    if (t < 16) {
        count[t] = 0;
    }
    __syncthreads();
    const long long k = b * 96 + t;
    if (k < n) {
        const long long at = bin[k];
        dst_atomic_add_i32(&count[at], 1);
        dst_atomic_add_i64(&h8[at], 3000000000LL);
        dst_atomic_add_f32(&hf4[k / 48], (float)x[k]);
        dst_atomic_add_f64(&hf8[at], x[k]);
        dst_atomic_add_c64(&hc8[at], dst_mul_c64(dst_make_c64((float)x[k], 0), dst_make_c64(0.0f, 1.0f)));
        dst_atomic_add_c128(&hc16[0], dst_make_c128(x[k], 0));
        flag[at] = 1;
    }
    dst_atomic_add_f64(&hf8[15], 1.0);
    __syncthreads();
    if (t < 16) {
        dst_atomic_add_i32(&h4[t], count[t]);
    }
}
