/* Fetches lines of the caches that hold bytes from p on. gcc would compute the address of each from coordinates. */
static inline __attribute__((always_inline)) void dst_fetch(const void *p, int64_t bytes) {
    __asm__("" : "+r"(p));
    for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)p + at);
}

/* The same, into the cache of the second level. */
static inline __attribute__((always_inline)) void dst_fetch_far(const void *p, int64_t bytes) {
    __asm__("" : "+r"(p));
    for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)p + at, 0, 2);
}
