__device__ __forceinline__ dst_c128 dst_widen(dst_c64 x) { return dst_make_c128(x.re, x.im); }
__device__ __forceinline__ dst_c64 dst_narrow(dst_c128 x) { return dst_make_c64((float)x.re, (float)x.im); }
