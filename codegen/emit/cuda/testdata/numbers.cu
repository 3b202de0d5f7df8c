// The kernels of numbers.

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

__device__ __forceinline__ dst_c128 dst_widen(dst_c64 x) { return dst_make_c128(x.re, x.im); }
__device__ __forceinline__ dst_c64 dst_narrow(dst_c128 x) { return dst_make_c64((float)x.re, (float)x.im); }

__device__ __forceinline__ dst_c64 dst_mul_c64(dst_c64 x, dst_c64 y) {
    return dst_make_c64(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

__device__ __forceinline__ dst_c128 dst_mul_c128(dst_c128 x, dst_c128 y) {
    return dst_make_c128(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

/* Smith's algorithm; by zero, each component is divided by +0. */
__device__ __forceinline__ dst_c128 dst_div_c128(dst_c128 x, dst_c128 y) {
    const double a = x.re, b = x.im, c = y.re, d = y.im;
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
        const double zero = 0;
        if (c == 0 && d == 0)
            return dst_make_c128(a / zero, b / zero);
        const double r = d / c, den = c + d * r;
        return dst_make_c128((a + b * r) / den, (b - a * r) / den);
    }
    const double r = c / d, den = d + c * r;
    return dst_make_c128((a * r + b) / den, (b * r - a) / den);
}

__device__ __forceinline__ dst_c64 dst_div_c64(dst_c64 x, dst_c64 y) { return dst_narrow(dst_div_c128(dst_widen(x), dst_widen(y))); }

__device__ __forceinline__ float dst_min_f32(float x, float y) { return y < x ? y : x; }

__device__ __forceinline__ double dst_min_f64(double x, double y) { return y < x ? y : x; }

__device__ __forceinline__ int dst_min_i32(int x, int y) { return y < x ? y : x; }

__device__ __forceinline__ long long dst_min_i64(long long x, long long y) { return y < x ? y : x; }

__device__ __forceinline__ float dst_max_f32(float x, float y) { return x < y ? y : x; }

__device__ __forceinline__ double dst_max_f64(double x, double y) { return x < y ? y : x; }

__device__ __forceinline__ int dst_max_i32(int x, int y) { return x < y ? y : x; }

__device__ __forceinline__ long long dst_max_i64(long long x, long long y) { return x < y ? y : x; }

/* x / y for y other than 0; the quotient of the least integer by -1 wraps. */
__device__ __forceinline__ int dst_div_i32(int x, int y) { return y == -1 ? (int)(0 - (unsigned long long)x) : x / y; }

/* x / y for y other than 0; the quotient of the least integer by -1 wraps. */
__device__ __forceinline__ long long dst_div_i64(long long x, long long y) { return y == -1 ? (long long)(0 - (unsigned long long)x) : x / y; }

__device__ __forceinline__ int dst_rem_i32(int x, int y) { return y == -1 ? 0 : x % y; }

__device__ __forceinline__ long long dst_rem_i64(long long x, long long y) { return y == -1 ? 0 : x % y; }

/* Arithmetic that wraps, of tensors' values. */
__device__ __forceinline__ int dst_add_i32(int x, int y) { return (int)((unsigned int)x + (unsigned int)y); }
__device__ __forceinline__ int dst_sub_i32(int x, int y) { return (int)((unsigned int)x - (unsigned int)y); }
__device__ __forceinline__ int dst_mul_i32(int x, int y) { return (int)((unsigned int)x * (unsigned int)y); }

/* Arithmetic that wraps, of tensors' values. */
__device__ __forceinline__ long long dst_add_i64(long long x, long long y) { return (long long)((unsigned long long)x + (unsigned long long)y); }
__device__ __forceinline__ long long dst_sub_i64(long long x, long long y) { return (long long)((unsigned long long)x - (unsigned long long)y); }
__device__ __forceinline__ long long dst_mul_i64(long long x, long long y) { return (long long)((unsigned long long)x * (unsigned long long)y); }

/* x towards zero, saturating; 0 for NaN. */
__device__ __forceinline__ int dst_trunc_i32(double x) {
    if (!(x < 2147483648.0))
        return x != x ? 0 : 2147483647LL;
    return x <= -2147483648.0 ? -2147483647LL - 1 : (int)x;
}

/* x towards zero, saturating; 0 for NaN. */
__device__ __forceinline__ long long dst_trunc_i64(double x) {
    if (!(x < 9223372036854775808.0))
        return x != x ? 0 : 9223372036854775807LL;
    return x <= -9223372036854775808.0 ? -9223372036854775807LL - 1 : (long long)x;
}

// (n + 31) / 32 blocks of 32 threads.
extern "C" __global__ void __launch_bounds__(32)
numbers_1(int *i4, const int *__restrict__ x4, const float *__restrict__ xf4, const double *__restrict__ xf8,
        const long long *__restrict__ x8, bool *b1, long long *i8, float *f4, const dst_c128 *__restrict__ xc16,
        const dst_c64 *__restrict__ xc8, double *f8, dst_c64 *c8, dst_c128 *__restrict__ c16, long long n) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    const long long k = b * 32 + t;
    if (k < n) {
        const long long o = k * 16;
        const long long j = n - 1 - k;
        i4[o] = dst_add_i32(x4[k], x4[j]);
        i4[o + 1] = dst_sub_i32(dst_mul_i32(x4[k], x4[j]), x4[k]);
        i4[o + 2] = dst_sub_i32(0, x4[k]);
        i4[o + 3] = dst_min_i32(x4[k], x4[j]);
        i4[o + 4] = dst_max_i32(x4[k], -7);
        i4[o + 5] = (x4[j] == 0 ? 0 : dst_div_i32(x4[k], x4[j]));
        i4[o + 6] = (x4[j] == 0 ? 1 : dst_rem_i32(x4[k], x4[j]));
        i4[o + 7] = dst_trunc_i32(xf4[k]);
        i4[o + 8] = dst_trunc_i32(xf8[k]);
        i4[o + 9] = (int)x8[k];
        i4[o + 10] = x4[k] / 16;
        i4[o + 11] = dst_add_i32(x4[k], (-2147483647 - 1));
        i4[o + 12] = dst_trunc_i32(xf8[k] * 1e+300);
        i4[o + 13] = (x8[k] < 0 ? -1 : (x8[k] == 0 ? 0 : 1));
        i4[o + 14] = (int)b1[k];
        i4[o + 15] = dst_add_i32(i4[o + 15], dst_mul_i32(x4[k], x4[k]));
        i8[o] = dst_add_i64(x8[k], x8[j]);
        i8[o + 1] = dst_sub_i64(dst_mul_i64(x8[k], x8[j]), x8[k]);
        i8[o + 2] = dst_sub_i64(0, x8[k]);
        i8[o + 3] = dst_min_i64(x8[k], x8[j]);
        i8[o + 4] = dst_max_i64(x8[k], 9007199254740993LL);
        i8[o + 5] = (x8[j] == 0 ? 0 : dst_div_i64(x8[k], x8[j]));
        i8[o + 6] = (x8[j] == 0 ? 1 : dst_rem_i64(x8[k], x8[j]));
        i8[o + 7] = dst_trunc_i64(xf4[k]);
        i8[o + 8] = dst_trunc_i64(xf8[k] * 1e+300);
        i8[o + 9] = (long long)x4[k] * x4[j];
        i8[o + 10] = x8[k] % 16;
        i8[o + 11] = dst_add_i64(x8[k], (-9223372036854775807LL - 1));
        long long sum = x8[k];
        sum = dst_add_i64(sum, x8[j]);
        sum = dst_add_i64(dst_mul_i64(sum, 3), 1);
        i8[o + 12] = sum;
        i8[o + 13] = -((long long)x4[k] + 1);
        i8[o + 14] = dst_add_i64(i8[o + 14], dst_mul_i64(x8[k], x8[k]));
        f4[o] = xf4[k] * xf4[j] + xf4[k];
        f4[o + 1] = xf4[k] / xf4[j];
        f4[o + 2] = dst_min_f32(xf4[k], xf4[j]);
        f4[o + 3] = dst_max_f32(xf4[k], xf4[j]);
        f4[o + 4] = -xf4[k];
        f4[o + 5] = (float)xf8[k];
        f4[o + 6] = (float)x8[k];
        f4[o + 7] = (float)xc16[k].re;
        f4[o + 8] = xc8[k].re;
        f4[o + 9] = (xf4[k] < xf4[j] ? __int_as_float(0x7f800000) : __int_as_float(0x7fc00000));
        f4[o + 10] = (xf4[k] <= xf4[j] ? -__int_as_float(0x7f800000) : 0.1f);
        f4[o + 11] += xf4[k];
        f8[o] = xf8[k] * xf8[j] - xf8[k];
        f8[o + 1] = xf8[k] / xf8[j];
        f8[o + 2] = dst_min_f64(xf8[k], xf8[j]);
        f8[o + 3] = dst_max_f64(xf8[k], xf8[j]);
        f8[o + 4] = -(-xf8[k]);
        f8[o + 5] = (double)xf4[k];
        f8[o + 6] = (double)x8[k];
        f8[o + 7] = (double)xc8[k].re;
        f8[o + 8] = (xf8[k] < xf8[j] ? __longlong_as_double(0x7ff0000000000000LL) : __longlong_as_double(0x7ff8000000000000LL));
        f8[o + 9] = (xf8[k] == xf8[j] ? -__longlong_as_double(0x7ff0000000000000LL) : -0.0);
        f8[o + 10] = 1e-310 * xf8[k] + 3e+20;
        f8[o + 11] += xf8[k];
        f8[o + 12] = (double)b1[k];
        c8[o] = dst_mul_c64(xc8[k], xc8[j]) + xc8[k];
        c8[o + 1] = dst_div_c64(xc8[k], xc8[j]);
        c8[o + 2] = -xc8[k] - xc8[j];
        c8[o + 3] = dst_narrow(xc16[k]);
        c8[o + 4] = dst_make_c64((float)x4[k], 0);
        c8[o + 5] = (xc8[k] == xc8[j] ? dst_make_c64(1.5f, __int_as_float(0x7f800000)) : dst_make_c64(0.0f, -2.0f));
        c8[o + 6] += xc8[k];
        c16[o] = dst_mul_c128(xc16[k], xc16[j]) + xc16[k];
        c16[o + 1] = dst_div_c128(xc16[k], xc16[j]);
        c16[o + 2] = -xc16[k] - xc16[j];
        c16[o + 3] = dst_widen(xc8[k]);
        c16[o + 4] = dst_make_c128(xf8[k], 0);
        dst_c128 z = xc16[k];
        z += dst_mul_c128(xc16[j], dst_make_c128(0.0, 1.0));
        c16[o + 5] = z;
        b1[o + 5000] = xc16[k] != xc16[j] || xc8[k] == xc8[j];
        b1[o + 5001] = !(xf8[k] < xf8[j]) && (x4[k] <= x4[j] || x8[k] < x8[j]);
        b1[o + 5002] = x4[k] != 0;
        b1[o + 5003] = xf8[k] != 0;
        b1[o + 5004] = xc8[k] != dst_make_c64(0, 0);
        b1[o + 5005] = xc16[k] != dst_make_c128(0, 0) && !b1[k];
        b1[o + 5006] = !(x8[k] != 0);
    }
}
