__device__ __forceinline__ dst_$S dst_mul_$S(dst_$S x, dst_$S y) {
    return dst_make_$S(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}
