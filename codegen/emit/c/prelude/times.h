static inline $T dst_times_$S($T x, $T y) { return x * y; }
