/* *a += x, atomically. Where all lanes of the warp add to one place, one adds their sum.
 * All lanes that __activemask names executed it together: where it names all 32, all 32 go
 * on to the vote and to the sum. Where it names fewer, lanes add one by one and wait for none. */
__device__ __forceinline__ void dst_atomic_add_$S($T *a, $T x) {
    if (__activemask() == 0xffffffffu) {
        int same;
        __match_all_sync(0xffffffffu, (unsigned long long)a, &same);
        if (same) {
            const $U sum = dst_warp_sum_$S(($U)x);
            if (threadIdx.x % 32 == 0)
                atomicAdd(($U *)a, sum);
            return;
        }
    }
    atomicAdd(($U *)a, ($U)x);
}
