/* dst_copy past the caches where the compiler knows how. */
static inline void dst_stream(void *to, int64_t to_at, const void *from, int64_t from_at, int64_t n, int64_t size) {
#if defined __AVX__ && !defined __clang__
    typedef long long line __attribute__((vector_size(32)));
    char *d = (char *)to + to_at * size;
    const char *s = (const char *)from + from_at * size;
    int64_t left = n > 0 ? n * size : 0;
    const int64_t odd = (int64_t)(-(__UINTPTR_TYPE__)d & 31), head = odd < left ? odd : left;
    __builtin_memcpy(d, s, (__SIZE_TYPE__)head);
    for (d += head, s += head, left -= head; left >= 32; d += 32, s += 32, left -= 32) {
        line x;
        __builtin_memcpy(&x, s, 32);
        __builtin_ia32_movntdq256((line *)d, x);
    }
    __builtin_memcpy(d, s, (__SIZE_TYPE__)left);
    __builtin_ia32_sfence();
#else
    dst_copy(to, to_at, from, from_at, n, size);
#endif
}
