/* *p, which is not read again: it does not displace other data in the caches. */
__device__ __forceinline__ $T dst_stream_$S(const $T *p) {
#if defined DST_EMULATED
    return *p;
#elif __CUDA_ARCH__ < 800
    return __ldcs(p);
#else
    unsigned long long policy;
    $T x;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.$B %0, [%1], %2;" : "=$C"(x) : "l"(p), "l"(policy));
    return x;
#endif
}
