/* x * y + z, rounded once where the processor does that in one instruction. */
static inline __attribute__((always_inline)) $T dst_fma_$S($T x, $T y, $T z) {
#ifdef __FP_FAST_FMA$F
    return __builtin_fma$f(x, y, z);
#else
    return x * y + z;
#endif
}
