/* The progress that the caller asks for; null for none. */
static inline dst_progress *dst_asked(const dst_env *env) { return env->has_progress ? env->progress : 0; }

/* Begins a loop whose progress env counts in 1024ths of so many chunks. Pieces of the loop that
 * lie in one span of iterations are one chunk. */
static inline void dst_begin(dst_env *env, int64_t chunks, int64_t span) {
    dst_progress *const p = dst_asked(env);
    if (p) {
        __atomic_store_n(&p->total, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&p->done, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&p->loop, p->loop + 1, __ATOMIC_RELEASE);
        p->span = span;
        __atomic_store_n(&p->total, chunks * 1024, __ATOMIC_RELEASE);
    }
}

/* Begins a loop of n iterations in pieces of size, the last of which is counted as if it was whole. */
static inline void dst_begin_pieces(dst_env *env, int64_t n, int64_t size) {
    dst_progress *const p = dst_asked(env);
    if (p) {
        int64_t span = 1; /* a power of two */
        while (span < size || span < n / 1024)
            span *= 2;
        dst_begin(env, ((n - 1) / size * size + size - 1) / span + 1, span);
    }
}

/* Begins a loop over [lo, hi), of which so many iterations run at a time: all where nobody asks. */
static inline int64_t dst_begin_strips(dst_env *env, int64_t lo, int64_t hi, int64_t step) {
    if (!dst_asked(env) || hi <= lo)
        return hi > lo ? hi - lo : step;
    const int64_t strip = ((hi - lo) / 100 / step + 1) * step;
    dst_begin(env, (hi - lo - 1) / strip + 1, 1);
    return strip;
}

/* Adds a chunk to the progress, if the piece of size iterations, from number from on, is the one
 * of its span that counts. */
static inline void dst_done(dst_env *env, int64_t from, int64_t size) {
    dst_progress *const p = dst_asked(env);
    if (p && ((from + size - 1) & (p->span - 1)) < size)
        __atomic_fetch_add(&p->done, 1024, __ATOMIC_RELAXED);
}
