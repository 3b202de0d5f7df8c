// Faults in leaves and in mapped files that have shrunk. See guard.c.
#ifndef DST_GUARD_H
#define DST_GUARD_H

#include <stdint.h>

// dst_fault is the reason why the leaves of this process stopped: a signal that one of their
// threads got, or a call of dst_guard_stop (signal is 0).
typedef struct {
    int32_t signal;
    uint64_t address; // address of the access, for SIGSEGV and SIGBUS
} dst_fault;

// dst_guard_arm installs the handlers, also again after something replaced them.
void dst_guard_arm(void);

// dst_guarded calls f(arg), stores the result in *rc and returns 1. It returns 0 and the reason in
// *why if f was abandoned or not called. Memory that f could reach must then never be freed,
// because other threads of the leaf may still run. After a leaf was abandoned, no leaf is called in
// this process.
int dst_guarded(int (*f)(void *), void *arg, int *rc, dst_fault *why);

// dst_guard_stop abandons all running leaves and returns the number of leaves that still run. A
// leaf that holds a lock (dst_guard_held) is not abandoned and needs another call.
int dst_guard_stop(void);

// dst_guard_held is positive while the thread must not be stopped, for example because it holds a
// lock.
extern __thread int32_t dst_guard_held;

// The mapped files, by number. An entry is in use while lo is not 0.
enum { DST_GUARD_MAPS = 4096 };
void dst_guard_map(int n, uintptr_t lo, uintptr_t hi);
int dst_guard_torn(int n);

#endif
