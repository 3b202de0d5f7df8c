// A fault in a leaf is an access outside its arrays, an access to a page that a mapped file no
// longer has, or the C library's abort. It must not end the process before the job has reported it
// and removed its temporary files. The thread that called the leaf returns to its call. Another
// thread, which belongs to OpenMP, has no place to return to: it stops forever, and the callers of
// all leaves return. Faults in other code go to the handlers that were installed before, which are
// Go's.
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A frame is a call of a leaf.
struct frame {
    sigjmp_buf back;
    pthread_t thread;
    struct frame *next;
};

// the frame of this thread, while its leaf may be abandoned
static __thread struct frame *volatile here;
__thread int32_t dst_guard_held;

static atomic_flag lock = ATOMIC_FLAG_INIT; // guards frames; no thread is stopped while holding it
static struct frame *frames;
static atomic_int running; // number of frames
static atomic_int stopping; // never reset
static atomic_int noted;
static dst_fault fault; // the first fault; complete once stopping is set

static struct {
    _Atomic uintptr_t lo, hi;
    atomic_int torn;
} maps[DST_GUARD_MAPS];

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction older[NSIG];

static void acquire(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
}

static void release(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

static void enter(struct frame *f) {
    f->thread = pthread_self();
    acquire();
    f->next = frames;
    frames = f;
    release();
    atomic_fetch_add(&running, 1);
}

static void leave(struct frame *f) {
    acquire();
    struct frame **p = &frames;
    while (*p != f)
        p = &(*p)->next;
    *p = f->next;
    release();
    atomic_fetch_sub(&running, 1);
}

// forget_thread clears this thread's data of all libraries, so that their destructors do nothing
// when the thread ends. OpenMP's destructor would free a team of threads that is still in the
// abandoned leaf.
static void forget_thread(void) {
    for (pthread_key_t k = 0; k < PTHREAD_KEYS_MAX; k++)
        if (pthread_getspecific(k))
            pthread_setspecific(k, 0);
}

int dst_guarded(int (*f)(void *), void *arg, int *rc, dst_fault *why) {
    struct frame mine;
    if (sigsetjmp(mine.back, 0) == 0) {
        enter(&mine);
        here = &mine;
        if (!atomic_load(&stopping)) { // checked after here is set; see dst_guard_stop
            *rc = f(arg);
            here = 0;
            leave(&mine);
            return 1;
        }
        here = 0;
    }
    leave(&mine);
    forget_thread();
    *why = fault;
    return 0;
}

// go_back returns from the signal handler to dst_guarded.
static void go_back(void *context) {
    struct frame *f = here;
    here = 0;
    dst_guard_held = 0;
    pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, 0);
    siglongjmp(f->back, 1);
}

// interrupt_callers makes the callers of all leaves, except this thread, return. It interrupts all
// of them because nothing tells which leaf an OpenMP thread works for.
static void interrupt_callers(void) {
    acquire();
    for (struct frame *f = frames; f; f = f->next)
        if (!pthread_equal(f->thread, pthread_self()))
            pthread_kill(f->thread, SIGBUS);
    release();
}

int dst_guard_stop(void) {
    atomic_store(&noted, 1); // fault stays 0, unless there was a fault
    atomic_store(&stopping, 1);
    interrupt_callers();
    return atomic_load(&running);
}

// runs_leaf reports whether the current thread runs a leaf. Such a thread called the leaf, or is
// not a thread of Go while leaves run or after one was abandoned. All threads of Go have a signal
// stack.
static int runs_leaf(void) {
    if (here)
        return 1;
    stack_t s;
    return (atomic_load(&running) > 0 || atomic_load(&stopping)) && sigaltstack(0, &s) == 0 &&
        (s.ss_flags & SS_DISABLE);
}

// map_of returns the number of the mapped file that contains an address, or -1.
static int map_of(uintptr_t addr) {
    for (int i = 0; i < DST_GUARD_MAPS; i++) {
        uintptr_t lo = atomic_load(&maps[i].lo), hi = atomic_load(&maps[i].hi);
        if (lo != 0 && addr >= lo && addr < hi)
            return i;
    }
    return -1;
}

// map_zeros replaces map i by zeros, from the page of addr to the end of the map, so that its
// reader can continue.
static int map_zeros(int i, uintptr_t addr) {
    uintptr_t page = addr & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    return mmap((void *)page, atomic_load(&maps[i].hi) - page, PROT_READ,
        MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

// pass_on gives a signal to the handler that was installed before.
static void pass_on(int sig, siginfo_t *info, void *context) {
    struct sigaction *o = &older[sig];
    if (o->sa_flags & SA_SIGINFO) {
        o->sa_sigaction(sig, info, context);
    } else if (o->sa_handler != SIG_DFL && o->sa_handler != SIG_IGN) {
        o->sa_handler(sig);
    } else {
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    int sent = info->si_code <= 0; // sent by a call, not a fault of this instruction
    if (sent && sig == SIGBUS && info->si_pid == getpid() && atomic_load(&stopping)) {
        if (here && dst_guard_held == 0)
            go_back(context);
        errno = saved;
        return;
    }
    int aborts = sig == SIGABRT && info->si_code == SI_TKILL && info->si_pid == getpid();
    int map = sig == SIGBUS && !sent ? map_of((uintptr_t)info->si_addr) : -1;
    if (map >= 0)
        atomic_store(&maps[map].torn, 1);
    if ((!sent || aborts) && runs_leaf()) {
        if (atomic_exchange(&noted, 1) == 0) {
            fault.signal = sig;
            fault.address = sent ? 0 : (uint64_t)(uintptr_t)info->si_addr;
        }
        atomic_store(&stopping, 1);
        interrupt_callers();
        if (here)
            go_back(context);
        for (;;) // all signals are blocked
            pause();
    }
    if (map >= 0 && map_zeros(map, (uintptr_t)info->si_addr)) {
        errno = saved;
        return;
    }
    errno = saved;
    pass_on(sig, info, context);
}

void dst_guard_arm(void) {
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, mine;
        if (sigaction(signals[i], 0, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault))
            continue;
        older[signals[i]] = now;
        memset(&mine, 0, sizeof mine);
        mine.sa_sigaction = on_fault;
        mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigfillset(&mine.sa_mask);
        sigaction(signals[i], &mine, 0);
    }
}

void dst_guard_map(int n, uintptr_t lo, uintptr_t hi) {
    atomic_store(&maps[n].torn, 0);
    atomic_store(&maps[n].hi, hi);
    atomic_store(&maps[n].lo, lo);
}

int dst_guard_torn(int n) { return atomic_load(&maps[n].torn); }
