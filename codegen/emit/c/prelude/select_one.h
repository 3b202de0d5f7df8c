typedef $I dst_one_bits_$S __attribute__((vector_size(16)));
typedef $T dst_one_$S __attribute__((vector_size(16)));

/* c ? x : y without a branch, in a vector's first lane: of fewer instructions than
 * dst_select_$S, for loops that run one iteration at a time. */
static inline $T dst_select_one_$S(_Bool c, $T x, $T y) {
    const dst_one_bits_$S keep = {-($I)c};
    union { dst_one_$S x; dst_one_bits_$S u; } a = {{x}}, b = {{y}};
    a.u = (a.u & keep) | (b.u & ~keep);
    return a.x[0];
}
