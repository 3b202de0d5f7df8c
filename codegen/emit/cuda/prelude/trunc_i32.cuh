/* x towards zero, saturating; 0 for NaN. */
__device__ __forceinline__ int dst_trunc_i32(double x) {
    if (!(x < 2147483647.0))
        return x != x ? 0 : 2147483647;
    return x <= -2147483648.0 ? -2147483647 - 1 : (int)x;
}
