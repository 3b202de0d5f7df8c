static inline $T dst_mul_$S($T x, $T y) {
    const $P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return dst_make_$S(dst_fma_$Q(a, c, -(b * d)), dst_fma_$Q(a, d, b * c));
}
