/* The address of element 0 of the whole array, of which a holds a part. */
static inline void *dst_base(const dst_array *a, int64_t size) {
    return (void *)((__UINTPTR_TYPE__)a->ptr - (__UINTPTR_TYPE__)(a->first * size));
}
