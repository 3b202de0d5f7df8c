/* x / y for y other than 0; the quotient of the least integer by -1 wraps. */
__device__ __forceinline__ $T dst_div_$S($T x, $T y) { return y == -1 ? ($T)(0 - (unsigned long long)x) : x / y; }
