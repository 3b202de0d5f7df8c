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
