/* Smith's algorithm; by zero, each component is divided by +0. */
static inline double _Complex dst_div_c128(double _Complex x, double _Complex y) {
    const double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
        if (c == 0 && d == 0)
            return dst_make_c128(a / 0.0, b / 0.0);
        const double r = d / c, den = c + d * r;
        return dst_make_c128((a + b * r) / den, (b - a * r) / den);
    }
    const double r = c / d, den = d + c * r;
    return dst_make_c128((a * r + b) / den, (b * r - a) / den);
}
