
/* The address of a[i] for elements of size bytes, also where a has no element i. */
static inline void *dst_address(const void *a, int64_t i, int64_t size) {
    return (void *)((__UINTPTR_TYPE__)a + (__UINTPTR_TYPE__)(i * size));
}
