static inline void dst_release(dst_env *env, void *ptr, int64_t n, int64_t size) {
    if (ptr && env->alloc)
        env->release(env, ptr, n == 0 ? 1 : n * size);
    else if (ptr)
        __builtin_free(ptr);
}
