/* Arithmetic that wraps, of tensors' values. */
__device__ __forceinline__ $T dst_add_$S($T x, $T y) { return ($T)((unsigned $T)x + (unsigned $T)y); }
__device__ __forceinline__ $T dst_sub_$S($T x, $T y) { return ($T)((unsigned $T)x - (unsigned $T)y); }
__device__ __forceinline__ $T dst_mul_$S($T x, $T y) { return ($T)((unsigned $T)x * (unsigned $T)y); }
