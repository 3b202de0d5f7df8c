static inline $T dst_neg_complex_$S($T z) { return dst_make_$S(dst_neg_$Q(__real__ z), dst_neg_$Q(__imag__ z)); }
