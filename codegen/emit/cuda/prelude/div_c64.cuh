__device__ __forceinline__ dst_c64 dst_div_c64(dst_c64 x, dst_c64 y) { return dst_narrow(dst_div_c128(dst_widen(x), dst_widen(y))); }
