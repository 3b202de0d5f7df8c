/* dst_copy past the caches, but for parts of lines. */
static inline void dst_stream(void *to, int64_t to_at, const void *from, int64_t from_at, int64_t n, int64_t size) {
    char *d = (char *)to + to_at * size;
    const char *s = (const char *)from + from_at * size;
    int64_t left = n > 0 ? n * size : 0;
    const int64_t head = dst_before_line(d, left, 1);
    __builtin_memcpy(d, s, (__SIZE_TYPE__)head);
    for (d += head, s += head, left -= head; left >= 64; d += 64, s += 64, left -= 64)
        dst_put_line(d, s);
    __builtin_memcpy(d, s, (__SIZE_TYPE__)left);
    dst_lines_put();
}
