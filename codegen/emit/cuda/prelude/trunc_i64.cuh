/* x towards zero, saturating; 0 for NaN. */
__device__ __forceinline__ long long dst_trunc_i64(double x) {
    if (!(x < 9223372036854775808.0))
        return x != x ? 0 : 9223372036854775807LL;
    return x <= -9223372036854775808.0 ? -9223372036854775807LL - 1 : (long long)x;
}
