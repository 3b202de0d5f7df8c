/* *a += x, atomically, for a value of 1 or 2 bytes: the 4 bytes around it are exchanged. */
__device__ __forceinline__ void dst_atomic_add_$S($T *a, $T x) {
    const unsigned long long at = (unsigned long long)a;
    unsigned *const word = (unsigned *)(at & ~3ULL);
    const unsigned shift = (unsigned)(at & 3) * 8, mask = (sizeof($T) == 1 ? 255u : 65535u) << shift;
    unsigned seen = *(volatile unsigned *)word, before;
    do {
        before = seen;
        const $T sum = ($T)(($T)((before & mask) >> shift) + x);
        seen = atomicCAS(word, before, (before & ~mask) | ((unsigned)sum << shift & mask));
    } while (seen != before);
}
