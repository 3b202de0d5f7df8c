/* What a full array of cap elements grows to when it needs more. */
static inline int64_t dst_grown(int64_t cap, int64_t need) {
    return cap <= 4611686018427387903L && need < 2 * cap ? 2 * cap : need;
}

__attribute__((malloc, noinline)) static void *dst_grow(dst_env *env, void *ptr, int64_t from, int64_t to, int64_t size) {
    const int64_t bytes = dst_bytes(to, size);
    if (env->alloc)
        return env->grow(env, ptr, from == 0 ? 1 : from * size, bytes);
    return bytes == 9223372036854775807L ? 0 : __builtin_realloc(ptr, (__SIZE_TYPE__)bytes);
}
