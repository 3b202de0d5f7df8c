/* The length of each of count even pieces of [lo, hi), a multiple of step. */
static inline int64_t dst_piece(int64_t lo, int64_t hi, int64_t step, int64_t count) {
    const int64_t n = (hi - lo + step - 1) / step;
    return n > count ? (n + count - 1) / count * step : step;
}
