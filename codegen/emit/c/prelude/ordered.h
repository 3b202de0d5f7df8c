extern int sched_yield(void);

/* The state of a parallel loop's ordered section: the iteration that may enter it next, and
 * the loop's failures, if it may fail. */
typedef struct {
    int64_t next;
    const dst_fault *fault;
} dst_ordered;

/* Waits until iteration v may enter the section; 0 where it never may, as an earlier one failed. */
static inline int dst_ordered_enter(const dst_ordered *ordered, int64_t v) {
    for (int64_t tries = 0;; tries++) {
        if (__atomic_load_n(&ordered->next, __ATOMIC_ACQUIRE) == v)
            return 1;
        if (ordered->fault && dst_failed_before(ordered->fault, v))
            return 0;
        if (tries > 1000)
            sched_yield();
#if defined __x86_64__
        else
            __asm__ __volatile__("pause");
#elif defined __aarch64__
        else
            __asm__ __volatile__("yield");
#endif
    }
}

/* Lets iteration v enter the section. */
static inline void dst_ordered_leave(dst_ordered *ordered, int64_t v) { __atomic_store_n(&ordered->next, v, __ATOMIC_RELEASE); }
