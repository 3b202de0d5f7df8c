/* Never null for memory: an empty array has a byte. Not inlined, so that the
 * compiler knows that the memory is no other's. */
__attribute__((malloc, noinline)) static void *dst_alloc(dst_env *env, int64_t n, int64_t size, int32_t zero) {
    return env->alloc(env, n == 0 ? 1 : dst_bytes(n, size), zero);
}
