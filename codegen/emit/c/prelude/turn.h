extern int sched_yield(void);

/* Whose turn it is in a parallel loop, and the loop's failures, if it may fail. */
typedef struct {
    int64_t next;
    const dst_fault *fault;
} dst_turn;

/* Waits for iteration v's turn; 0 where it does not come, as an earlier one failed. */
static inline int dst_await(const dst_turn *turn, int64_t v) {
    for (int64_t tries = 0;; tries++) {
        if (__atomic_load_n(&turn->next, __ATOMIC_ACQUIRE) == v)
            return 1;
        if (turn->fault && dst_failed_before(turn->fault, v))
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

/* Gives the turn to iteration v. */
static inline void dst_pass(dst_turn *turn, int64_t v) { __atomic_store_n(&turn->next, v, __ATOMIC_RELEASE); }
