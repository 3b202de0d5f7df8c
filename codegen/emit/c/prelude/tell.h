/* How many iterations of a loop over [lo, hi) in a chunk run at a time, so that about 100 steps of
 * all chunks together are told: all where nobody asks. */
static inline int64_t dst_strip(dst_env *env, int64_t lo, int64_t hi, int64_t step) {
    dst_progress *const p = dst_asked(env);
    if (!p || hi <= lo)
        return hi > lo ? hi - lo : step;
    const int64_t strips = 100 * 1024 / __atomic_load_n(&p->total, __ATOMIC_RELAXED) + 1;
    return ((hi - lo) / strips / step + 1) * step;
}

/* Adds to the progress the part done / of of a chunk, of which *told 1024ths were added before. */
static inline void dst_tell(dst_env *env, int64_t *told, int64_t done, int64_t of) {
    dst_progress *const p = dst_asked(env);
    if (p && of > 0) {
        const int64_t now = (int64_t)(1024. * done / of);
        __atomic_fetch_add(&p->done, now - *told, __ATOMIC_RELAXED);
        *told = now;
    }
}
