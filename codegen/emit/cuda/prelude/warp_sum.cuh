/* The sum of all 32 lanes' x, at each of them. All of them call it together. */
__device__ __forceinline__ $U dst_warp_sum_$S($U x) {
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}
