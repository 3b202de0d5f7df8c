// The kernels of shuffles.

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

__device__ __forceinline__ dst_c128 dst_mul_c128(dst_c128 x, dst_c128 y) {
    return dst_make_c128(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

/* Arithmetic that wraps, of tensors' values. */
__device__ __forceinline__ long long dst_add_i64(long long x, long long y) { return (long long)((unsigned long long)x + (unsigned long long)y); }
__device__ __forceinline__ long long dst_sub_i64(long long x, long long y) { return (long long)((unsigned long long)x - (unsigned long long)y); }
__device__ __forceinline__ long long dst_mul_i64(long long x, long long y) { return (long long)((unsigned long long)x * (unsigned long long)y); }

__device__ __forceinline__ dst_c64 dst_shuffle_c64(dst_c64 x, int mask) {
    return dst_make_c64(__shfl_xor_sync(0xffffffffu, x.re, mask), __shfl_xor_sync(0xffffffffu, x.im, mask));
}

__device__ __forceinline__ dst_c128 dst_shuffle_c128(dst_c128 x, int mask) {
    return dst_make_c128(__shfl_xor_sync(0xffffffffu, x.re, mask), __shfl_xor_sync(0xffffffffu, x.im, mask));
}

// 2 blocks of 64 threads.
extern "C" __global__ void __launch_bounds__(64)
shuffles_1(int *i4, long long *i8, float *f4, double *f8, dst_c64 *c8, dst_c128 *c16, bool *b1) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    const long long k = b * 64 + t;
    int vi4 = i4[k];
    vi4 = __shfl_xor_sync(0xffffffffu, i4[k], 1);
    long long vi8 = 0;
    vi8 = __shfl_xor_sync(0xffffffffu, i4[k], 2);
    i8[k] = dst_add_i64(i8[k], vi8);
    vi8 = __shfl_xor_sync(0xffffffffu, i8[k], 31);
    float vf4 = 0.0f;
    vf4 = __shfl_xor_sync(0xffffffffu, f4[k] + 1.0f, 4);
    double vf8 = 0.0;
    vf8 = __shfl_xor_sync(0xffffffffu, f8[k], 8);
    dst_c64 vc8 = c8[k];
    vc8 = dst_shuffle_c64(vc8, 16);
    dst_c128 vc16 = c16[k];
    vc16 = dst_shuffle_c128(dst_mul_c128(vc16, vc16), 5);
    bool vb = 0;
    vb = __shfl_xor_sync(0xffffffffu, (int)(b1[k] && k != 3), 3) != 0;
    i4[k] = vi4;
    i8[k] = vi8;
    f4[k] = vf4;
    f8[k] = vf8;
    c8[k] = vc8;
    c16[k] = vc16;
    b1[k] = vb;
}
