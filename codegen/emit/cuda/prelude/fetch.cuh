/* *a, which becomes x if it is 0, atomically. A place that is taken needs no atomic access. */
__device__ __forceinline__ long long dst_claim_$S($T *a, long long x) {
    const $T seen = *(volatile $T *)a;
    return seen != 0 ? seen : ($T)atomicCAS(($U *)a, ($U)0, ($U)x);
}

/* *a before x is added to it, atomically. */
__device__ __forceinline__ long long dst_fetch_add_$S($T *a, long long x) {
    return ($T)atomicAdd(($U *)a, ($U)x);
}
