/* A complex number's parts are added one by one. */
__device__ __forceinline__ void dst_atomic_add_$S(dst_$S *a, dst_$S x) {
    dst_atomic_add_$R(&a->re, x.re);
    dst_atomic_add_$R(&a->im, x.im);
}
