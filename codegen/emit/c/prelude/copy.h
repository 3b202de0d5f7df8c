static inline void dst_copy(void *to, int64_t to_at, const void *from, int64_t from_at, int64_t n, int64_t size) {
    if (n > 0)
        __builtin_memcpy((char *)to + to_at * size, (const char *)from + from_at * size, (__SIZE_TYPE__)(n * size));
}
