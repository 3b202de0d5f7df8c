__device__ __forceinline__ $T dst_min_$S($T x, $T y) { return y < x ? y : x; }
