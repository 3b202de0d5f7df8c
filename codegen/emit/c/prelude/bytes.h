/* The size of n elements; the largest number where it would overflow. */
static inline int64_t dst_bytes(int64_t n, int64_t size) {
    return n < 0 || n > 9223372036854775807L / size ? 9223372036854775807L : n * size;
}
