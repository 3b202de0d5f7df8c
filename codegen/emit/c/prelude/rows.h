/* The address of a dense tensor's value at coordinate 0, where first values precede those that a holds. */
static inline void *dst_rows(const dst_array *a, int64_t first, int64_t size) {
    return (void *)((__UINTPTR_TYPE__)dst_base(a, size) - (__UINTPTR_TYPE__)(first * size));
}
