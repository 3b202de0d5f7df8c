__device__ __forceinline__ $T dst_max_$S($T x, $T y) { return x < y ? y : x; }
