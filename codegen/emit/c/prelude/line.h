/* How many of n elements of the given size, from p on, lie before the first line of the caches that begins among them; n where
 * none does, and where the compiler knows no store past the caches. */
static inline int64_t dst_before_line(const void *p, int64_t n, int64_t size) {
#if defined __AVX__ && !defined __clang__
    const int64_t bytes = (int64_t)(-(__UINTPTR_TYPE__)p & 63);
    return bytes % size == 0 && bytes / size < n ? bytes / size : n;
#else
    (void)p, (void)size;
    return n;
#endif
}

/* Stores a line past the caches. */
static inline __attribute__((always_inline)) void dst_put_line(void *to, const void *from) {
#if defined __AVX512F__ && !defined __clang__
    typedef long long line __attribute__((vector_size(64)));
    line x;
    __builtin_memcpy(&x, from, 64);
    __builtin_ia32_movntdq512((line *)to, x);
#elif defined __AVX__ && !defined __clang__
    typedef long long half __attribute__((vector_size(32)));
    half x[2];
    __builtin_memcpy(x, from, 64);
    __builtin_ia32_movntdq256((half *)to, x[0]);
    __builtin_ia32_movntdq256((half *)to + 1, x[1]);
#else
    __builtin_memcpy(to, from, 64);
#endif
}

/* Other threads see all lines that this one stored. */
static inline void dst_lines_put(void) {
#if defined __AVX__ && !defined __clang__
    __builtin_ia32_sfence();
#endif
}
