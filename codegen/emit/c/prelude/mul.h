static inline $T dst_mul_$S($T x, $T y) {
    const $P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
#ifdef __FMA__
    if (sizeof(a) == sizeof(double)) {
        /* One instruction for both parts, with the same rounding as the two below, which GCC does not pack. */
        typedef double dst_pair __attribute__((vector_size(16)));
        const dst_pair z = __builtin_ia32_vfmaddsubpd((dst_pair){a, a}, (dst_pair){c, d},
                                                      (dst_pair){b, b} * (dst_pair){d, c});
        return dst_make_$S(z[0], z[1]);
    }
#endif
    return dst_make_$S(dst_fma_$Q(a, c, -(b * d)), dst_fma_$Q(a, d, b * c));
}
