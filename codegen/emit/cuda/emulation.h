// This header runs CUDA kernels on a CPU, for tests. It precedes a file of kernels, which GCC or
// Clang compiles as C++17. After the kernels, DST_ENTRY makes a C function for each kernel:
//
//     int NAME_emulated(long long grid, void **args);
//
// args are pointers to the kernel's arguments, in order. The function runs the blocks in order. If
// the kernel has barriers or shuffles, each thread of a block is a fiber with its own stack, and
// fibers meet at barriers and shuffles. Otherwise the threads run as a loop. The function returns
// 0. It returns 1 if threads wait forever, or if some threads of a warp or block skip a barrier
// where others wait. dst_emulated_error() then names a thread. Several host threads may call such
// functions at the same time.

#define DST_EMULATED 1

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined __x86_64__ && !defined __aarch64__ || defined DST_PORTABLE
#define DST_UCONTEXT 1
#include <ucontext.h>
#endif

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) /* arguments of the host are aligned as their elements' parts are */
#define __shared__ static thread_local
#define DST_OWN __attribute__((visibility("hidden")))

struct dst_dim { unsigned x, y, z; };
extern "C" {
DST_OWN thread_local dst_dim threadIdx, blockIdx, gridDim, blockDim;
}

namespace dst_emulation {

enum { WARP = 32, MAX_THREADS = 1024, STACK = 256 << 10, GUARD = 64 << 10 };
const unsigned ALL = 0xffffffffu;

// The event that a fiber waits for. For SYNC and later values, all lanes of its warp must reach
// the same event.
enum wait { NOTHING, BLOCK, LANES, SYNC, SHUFFLE, MATCH, ENDED };

const char *const names[] = {"nothing", "__syncthreads", "__activemask", "__syncwarp", "a shuffle", "a match", "the end"};

typedef void (*thunk)(void **args);

struct fiber {
#if DST_UCONTEXT
    ucontext_t context;
#else
    void *sp;
#endif
    wait on;
    bool failed;             // it ended by dst_fail, so others need not wait for it
    const void *site;        // the call of __activemask
    unsigned long long give; // the value for the lanes of the warp
    unsigned mask;           // the result of __activemask
};

struct block {
    fiber fibers[MAX_THREADS], scheduler;
    unsigned long long given[MAX_THREADS]; // values at the last meeting of the warp
    bool came[MAX_THREADS];                // the lanes that took part in it
    int threads, current;
    thunk run;
    void **args;
    char *stacks;
    block *next; // next in the list made
};

static block *made; // the fibers of all host threads

static thread_local block *here; // null if threads run as a loop
static thread_local bool always;  // use fibers even for kernels that do not need them
static thread_local char error[256];
static thread_local unsigned char *dynamic;
static thread_local long long dynamic_size;

// prepare makes a fiber start with boot, on a stack from bottom to top. change switches to another
// fiber: it saves the registers that a call preserves, and the stack pointer. DST_PORTABLE selects
// the portable version, for tests.
#if DST_UCONTEXT
static void prepare(fiber &f, char *bottom, char *top, void (*boot)()) {
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = bottom;
    f.context.uc_stack.ss_size = top - bottom;
    f.context.uc_link = 0;
    makecontext(&f.context, boot, 0);
}

static void change(fiber &from, fiber &to) { swapcontext(&from.context, &to.context); }
#elif defined __x86_64__
extern "C" DST_OWN void dst_switch(void **from, void *to);
__asm__(".text\n.p2align 4\ndst_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

static void prepare(fiber &f, char *, char *top, void (*boot)()) {
    void **sp = (void **)top - 8; // six registers, boot's address, and one that aligns its stack
    memset(sp, 0, 8 * sizeof *sp);
    sp[6] = (void *)boot;
    f.sp = sp;
}

static void change(fiber &from, fiber &to) { dst_switch(&from.sp, to.sp); }
#elif defined __aarch64__
extern "C" DST_OWN void dst_switch(void **from, void *to);
__asm__(".text\n.p2align 4\ndst_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n");

static void prepare(fiber &f, char *, char *top, void (*boot)()) {
    void **sp = (void **)top - 20;
    memset(sp, 0, 20 * sizeof *sp);
    sp[11] = (void *)boot; // x30
    f.sp = sp;
}

static void change(fiber &from, fiber &to) { dst_switch(&from.sp, to.sp); }
#endif

static fiber &self() { return here->fibers[here->current]; }

// yield makes the current fiber wait for an event.
static __attribute__((noinline)) void yield(wait on) {
    fiber &f = self();
    f.on = on;
    change(f, here->scheduler);
}

// meet gives a value to the lanes of the warp, and waits for their values.
static void meet(wait on, unsigned mask, unsigned long long give) {
    if (mask != ALL) {
        fprintf(stderr, "emulation: a mask of %x, and only that of all lanes is emulated\n", mask);
        abort();
    }
    self().give = give;
    yield(on);
}

static void boot() {
    here->run(here->args);
    yield(ENDED);
}

static bool failure(const char *what, int thread, const char *where) {
    snprintf(error, sizeof error, "block %u: %s: thread %d is at %s", blockIdx.x, what, thread, where);
    return false;
}

// release wakes lanes of a warp if all of its fibers wait. It reports whether it woke any, and sets
// ok to false if they can never continue.
static bool release(int first, bool &ok) {
    block &b = *here;
    int lanes = b.threads - first < WARP ? b.threads - first : WARP, met = -1;
    for (int t = first; t < first + lanes; t++) {
        if (b.fibers[t].on != LANES)
            continue;
        // Fibers at the same call of __activemask run it together. This wakes the first group.
        unsigned mask = 0;
        for (int u = t; u < first + lanes; u++)
            if (b.fibers[u].on == LANES && b.fibers[u].site == b.fibers[t].site)
                mask |= 1u << (u - first);
        for (int u = t; u < first + lanes; u++)
            if (mask >> (u - first) & 1)
                b.fibers[u].mask = mask, b.fibers[u].on = NOTHING;
        return true;
    }
    for (int t = first; t < first + lanes; t++)
        if (b.fibers[t].on >= SYNC && b.fibers[t].on != ENDED)
            met = t;
    if (met < 0)
        return false;
    for (int t = first; t < first + lanes; t++) {
        fiber &f = b.fibers[t];
        if (f.on == BLOCK) // refused, although the other threads of the block may still end
            return ok = failure("divergent: lanes of one warp wait at a barrier of the block and at one of the warp", t, names[f.on]);
        if (f.on == ENDED ? !f.failed : f.on != b.fibers[met].on)
            return ok = failure("divergent: not all lanes of the warp come to one place", t, names[f.on]);
    }
    for (int t = first; t < first + lanes; t++) {
        b.given[t] = b.fibers[t].give;
        b.came[t] = b.fibers[t].on != ENDED;
        if (b.fibers[t].on != ENDED)
            b.fibers[t].on = NOTHING;
    }
    return true;
}

// pass wakes the threads of the block if all of them wait at its barrier.
static bool pass(bool &ok) {
    block &b = *here;
    int waiting = 0;
    for (int t = 0; t < b.threads; t++)
        waiting += b.fibers[t].on == BLOCK;
    if (waiting == 0)
        return false;
    for (int t = 0; t < b.threads; t++) {
        fiber &f = b.fibers[t];
        if (f.on == ENDED ? !f.failed : f.on != BLOCK)
            return ok = failure("divergent: not all threads of the block come to its barrier", t, names[f.on]);
    }
    for (int t = 0; t < b.threads; t++)
        if (b.fibers[t].on == BLOCK)
            b.fibers[t].on = NOTHING;
    return true;
}

// warp runs a warp's fibers until all of them have ended or wait for threads of other warps.
static void warp(int first, bool &ok) {
    block &b = *here;
    do {
        for (int t = first; t < first + WARP && t < b.threads; t++) {
            if (b.fibers[t].on != NOTHING)
                continue;
            b.current = t;
            threadIdx.x = t;
            change(b.scheduler, b.fibers[t]);
        }
    } while (release(first, ok) && ok);
}

static bool run_block() {
    block &b = *here;
    for (int t = 0; t < b.threads; t++) {
        fiber &f = b.fibers[t];
        char *bottom = b.stacks + (size_t)t * STACK;
        f.on = NOTHING;
        f.failed = false;
        prepare(f, bottom + GUARD, bottom + STACK, boot);
    }
    bool ok = true;
    do {
        for (int first = 0; first < b.threads && ok; first += WARP)
            warp(first, ok);
    } while (ok && pass(ok) && ok);
    return ok;
}

// fibers returns the fibers of the current host thread, or null if there is not enough memory.
// Protected pages separate their stacks. Later launches reuse the fibers until the library closes.
static block *fibers() {
    static thread_local block *b;
    if (b)
        return b;
    void *stacks = mmap(0, (size_t)MAX_THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b = (block *)calloc(1, sizeof *b);
    if (stacks == MAP_FAILED || !b) {
        free(b);
        return b = 0;
    }
    b->stacks = (char *)stacks;
    for (int t = 0; t < MAX_THREADS; t++)
        mprotect(b->stacks + (size_t)t * STACK, GUARD, PROT_NONE);
    b->next = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&made, &b->next, b, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return b;
}

// closed unmaps the stacks. Otherwise a process that opens many libraries would use all mappings.
__attribute__((destructor)) static void closed() {
    for (block *b = made; b;) {
        block *next = b->next;
        munmap(b->stacks, (size_t)MAX_THREADS * STACK);
        free(b);
        b = next;
    }
}

static int launch(thunk run, long long grid, int threads, bool waits, long long shared, void **args) {
    if (shared > dynamic_size) {
        free(dynamic);
        dynamic = (unsigned char *)malloc(dynamic_size = shared);
    }
    blockDim.x = threads;
    gridDim.x = (unsigned)grid;
    here = waits || always ? fibers() : 0;
    bool ok = here || !(waits || always) || failure("no memory for stacks", 0, "the start");
    for (long long at = 0; at < grid && ok; at++) {
        blockIdx.x = (unsigned)at;
        if (here) {
            here->threads = threads;
            here->run = run;
            here->args = args;
            ok = run_block();
            continue;
        }
        for (int t = 0; t < threads; t++) {
            threadIdx.x = t;
            run(args);
        }
    }
    return ok ? 0 : 1;
}

// entry calls a kernel. It gets the addresses of the arguments.
template <int... I> struct numbers {};
template <int N, int... I> struct count : count<N - 1, N - 1, I...> {};
template <int... I> struct count<0, I...> { typedef numbers<I...> list; };
template <auto K> struct entry;
template <class... A, void (*K)(A...)> struct entry<K> {
    template <int... I> static void call(void **args, numbers<I...>) { K(*(A *)args[I]...); }
    static void run(void **args) { call(args, typename count<sizeof...(A)>::list()); }
};

template <class T> static T shuffle(unsigned mask, T x, int from, bool inside) {
    unsigned long long bits = 0;
    memcpy(&bits, &x, sizeof x);
    const int t = here->current;
    meet(SHUFFLE, mask, bits);
    const int other = t - t % WARP + from;
    if (inside)
        memcpy(&x, &here->given[other], sizeof x);
    return x;
}

} // namespace dst_emulation

static inline void __syncthreads() { dst_emulation::yield(dst_emulation::BLOCK); }

static inline void __syncwarp(unsigned mask = 0xffffffffu) { dst_emulation::meet(dst_emulation::SYNC, mask, 0); }

template <class T> static inline T __shfl_xor_sync(unsigned mask, T x, int bits) {
    return dst_emulation::shuffle(mask, x, (threadIdx.x % 32) ^ bits, true);
}

template <class T> static inline T __shfl_sync(unsigned mask, T x, int from) {
    return dst_emulation::shuffle(mask, x, from, true);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T x, int by) {
    const int lane = threadIdx.x % 32;
    return dst_emulation::shuffle(mask, x, lane - by, lane >= by);
}

// If threads run as a loop, each is alone. Fibers that reach the same call run it together.
static __attribute__((noinline, unused)) unsigned __activemask() {
    if (!dst_emulation::here)
        return 1u << (threadIdx.x % 32);
    dst_emulation::self().site = __builtin_return_address(0);
    dst_emulation::yield(dst_emulation::LANES);
    return dst_emulation::self().mask;
}

static inline unsigned __match_all_sync(unsigned mask, unsigned long long x, int *same) {
    const int first = dst_emulation::here->current / 32 * 32;
    dst_emulation::meet(dst_emulation::MATCH, mask, x);
    for (int t = first; t < first + 32; t++)
        if (dst_emulation::here->came[t] && dst_emulation::here->given[t] != x)
            return *same = 0;
    *same = 1;
    return mask;
}

template <class T> static inline T atomicAdd(T *a, T x) {
    const T before = *a;
    *a += x;
    return before;
}

// Only dst_fail calls atomicCAS with int, so the thread is about to end.
static inline int atomicCAS(int *a, int is, int to) {
    if (dst_emulation::here)
        dst_emulation::self().failed = true;
    const int before = *a;
    if (before == is)
        *a = to;
    return before;
}

template <class T> static inline T atomicCAS(T *a, T is, T to) {
    const T before = *a;
    if (before == is)
        *a = to;
    return before;
}

static inline double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline unsigned char *dst_dynamic() { return dst_emulation::dynamic; }

// dst_emulated_error returns a message about this thread's last call that did not return 0.
extern "C" __attribute__((visibility("default"))) const char *dst_emulated_error() { return dst_emulation::error; }

// dst_emulated_fibers(1) makes all kernels that this thread calls run on fibers, even if their
// threads do not wait. Their atomic additions are then summed over warps, as on a GPU.
extern "C" __attribute__((visibility("default"))) void dst_emulated_fibers(int on) { dst_emulation::always = on; }

#define DST_ENTRY(NAME, THREADS, WAITS, SHARED)                                                      \
    extern "C" __attribute__((visibility("default"))) int NAME##_emulated(long long grid, void **args) { \
        return dst_emulation::launch(dst_emulation::entry<NAME>::run, grid, THREADS, WAITS, SHARED, args); \
    }
