/* -x, without a sum in x: GCC makes -(x*y + z), where x*y + z is rounded once, to -(x*y) - z, which
 * has another sign where the sum is 0, and does so at some levels of optimization only. */
static inline $T dst_neg_$S($T x) {
    union { $T x; $U u; } a = {x};
    a.u ^= ($U)1 << (sizeof a * 8 - 1);
    return a.x;
}
