__device__ __forceinline__ dst_$S dst_shuffle_$S(dst_$S x, int mask) {
    return dst_make_$S(__shfl_xor_sync(0xffffffffu, x.re, mask), __shfl_xor_sync(0xffffffffu, x.im, mask));
}
