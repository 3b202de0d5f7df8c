/* The failure of a chunk of a parallel loop; at is where the chunk begins. */
typedef struct {
    int64_t at;
    int32_t code, fail_ncoord;
    int64_t fail_coord[16];
} dst_fault;

/* Keeps the failure of the earliest chunk, whatever the order of threads. */
static void dst_keep_fault(dst_fault *first, const dst_fault *own) {
#pragma omp critical(dst_fault)
    if (own->at < first->at) {
        first->code = own->code;
        first->fail_ncoord = own->fail_ncoord;
        for (int32_t k = 0; k < own->fail_ncoord; k++)
            first->fail_coord[k] = own->fail_coord[k];
#pragma omp atomic write
        first->at = own->at;
    }
}

static inline void dst_report(dst_env *env, const dst_fault *fault) {
    env->fail_ncoord = fault->fail_ncoord;
    for (int32_t k = 0; k < fault->fail_ncoord; k++)
        env->fail_coord[k] = fault->fail_coord[k];
}

/* Whether a chunk before at has failed, so that this one need not run. */
static inline int dst_failed_before(const dst_fault *first, int64_t at) {
    int64_t when;
#pragma omp atomic read
    when = first->at;
    return when < at;
}
