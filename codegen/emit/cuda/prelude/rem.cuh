__device__ __forceinline__ $T dst_rem_$S($T x, $T y) { return y == -1 ? 0 : x % y; }
