/* c ? x : y without a branch. */
static inline $T dst_select_$S(_Bool c, $T x, $T y) {
    const $U keep = ($U)0 - ($U)c;
    union { $T x; $U u; } a = {x}, b = {y};
    a.u = (a.u & keep) | (b.u & ~keep);
    return a.x;
}
