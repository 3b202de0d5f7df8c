static inline $T dst_make_$S($P re, $P im) {
    $T z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}
