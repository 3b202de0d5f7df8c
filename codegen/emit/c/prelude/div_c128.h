/* Smith's algorithm; by zero, each component is divided by +0. Sums of products are fused here, where
 * the processor can: GCC 12 fuses pairs of x*y + z and x*y - z that it makes a vector of, whatever
 * -ffp-contract says, and the bits would depend on that. */
static inline double _Complex dst_div_c128(double _Complex x, double _Complex y) {
    const double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
        if (c == 0 && d == 0)
            return dst_make_c128(a / 0.0, b / 0.0);
        const double r = d / c, den = dst_fma_f64(d, r, c);
        return dst_make_c128(dst_fma_f64(b, r, a) / den, dst_fma_f64(-a, r, b) / den);
    }
    const double r = c / d, den = dst_fma_f64(c, r, d);
    return dst_make_c128(dst_fma_f64(a, r, b) / den, dst_fma_f64(b, r, -a) / den);
}
