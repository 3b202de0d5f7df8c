/* x towards zero, saturating; 0 for NaN. */
static inline int64_t dst_trunc_i64(double x) {
    if (!(x < 9223372036854775808.0))
        return x != x ? 0 : 9223372036854775807L;
    return x <= -9223372036854775808.0 ? -9223372036854775807L - 1 : (int64_t)x;
}
