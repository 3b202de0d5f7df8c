/* Never null for memory: an empty array has a byte. Not inlined, so that the
 * compiler knows that the memory is no other's. */
__attribute__((malloc, noinline)) static void *dst_alloc(dst_env *env, int64_t n, int64_t size, int32_t zero) {
    const int64_t bytes = n == 0 ? 1 : dst_bytes(n, size);
    if (env->alloc)
        return env->alloc(env, bytes, zero);
    if (bytes == 9223372036854775807L)
        return 0;
    return zero ? __builtin_calloc(1, (__SIZE_TYPE__)bytes) : __builtin_malloc((__SIZE_TYPE__)bytes);
}
