// Faults in leaves, and in maps of files that have shrunk. See guard.c.
#ifndef DST_GUARD_H
#define DST_GUARD_H

#include <stdint.h>

// A fault is what stopped the leaves of this process: a signal that one of their
// threads got, or, with signal 0, dst_guard_stop.
typedef struct {
    int32_t signal;
    uint64_t address; // that was accessed, for SIGSEGV and SIGBUS
} dst_fault;

// dst_guard_arm puts the handlers in place, again where something replaced them.
void dst_guard_arm(void);

// dst_guarded calls f(arg), puts what it returns into *rc and returns 1. It returns 0, with
// the reason in *why, where f was left in its middle or not called: all memory that f
// could reach then stays as it is, for other threads of the leaf may still run. Once
// a leaf was left, no leaf is called in this process.
int dst_guarded(int (*f)(void *), void *arg, int *rc, dst_fault *why);

// dst_guard_stop has all leaves that run be left, and returns how many there still are: one that
// holds a lock (dst_guard_held) is not left, and wants another call.
int dst_guard_stop(void);

// dst_guard_held is more than 0 while the thread holds what it must not be stopped with.
extern __thread int32_t dst_guard_held;

// The mapped files, by number. In use while lo is not 0.
enum { DST_GUARD_MAPS = 4096 };
void dst_guard_map(int n, uintptr_t lo, uintptr_t hi);
int dst_guard_torn(int n);

#endif
