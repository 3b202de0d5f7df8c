static inline float _Complex dst_div_c64(float _Complex x, float _Complex y) {
    return (float _Complex)dst_div_c128((double _Complex)x, (double _Complex)y);
}
