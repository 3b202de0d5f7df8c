/* The address of the row of values at coordinate 0 of a dense level, of which t holds a part. */
static inline void *dst_rows(const dst_tensor *t, int64_t size) {
    int64_t first = t->levels[0].offset;
    for (int32_t k = 1; k < t->nlevels; k++)
        first *= t->levels[k].size;
    return (void *)((__UINTPTR_TYPE__)dst_base(&t->vals, size) - (__UINTPTR_TYPE__)(first * size));
}
