static inline void dst_release(dst_env *env, void *ptr, int64_t n, int64_t size) {
    if (ptr)
        env->release(env, ptr, n == 0 ? 1 : n * size);
}
