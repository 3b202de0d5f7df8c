// The allocator of leaves: called from any thread of a leaf, it counts bytes
// against a limit that the whole rank shares, and gives large blocks as memory of
// their own, aligned and advised for huge pages, so that they can grow by moving
// page tables instead of data.
//
// A block's header lies in the 64 bytes before its data. A large block is
// [one page, whose end is the header][data], so that the data can begin at a
// huge page.

#define _GNU_SOURCE
#include "arena.h"
#include "gemm.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((int64_t)4096)
#define HUGE_PAGE ((int64_t)2 << 20)
// From LARGE bytes on a block is mapped, from HUGE_AT on in huge pages.
#define LARGE ((int64_t)256 << 10)
#define HUGE_AT ((int64_t)4 << 20)
// No request is larger: sums of sizes then cannot overflow.
#define MOST ((int64_t)1 << 56)
// From POOLED bytes on a freed block may go into the pool. Smaller ones are left to the C library, which reuses them; larger
// ones it would give back to the system and take again, at a fault a page, where they lie at the end of its heap.
#define POOLED ((int64_t)16 << 10)
// The pool's length, of which a result of five levels in 16 pieces takes 128 and blocks that are not large at most half, and the
// size from which a zeroed block is better taken fresh, to be zeroed page by page by the threads that use it.
#define POOL_BLOCKS 512
#define FRESH_ZERO ((int64_t)64 << 20)

struct dst_block {
    dst_block *prev, *next; // in its call's list, or the pool
    int64_t size;           // bytes at data, counted in *used
    int32_t large;
    uint32_t magic;
    char pad[32];
};
_Static_assert(sizeof(dst_block) == 64, "the header keeps data aligned to 64 bytes");

#define MAGIC 0x64737462u

static void *data_of(dst_block *b) { return b + 1; }

static dst_block *block_of(void *ptr) {
    dst_block *b = (dst_block *)ptr - 1;
    if (b->magic != MAGIC)
        abort(); // a leaf passed a pointer that is no block: memory is corrupt
    return b;
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// reserve counts n more bytes, or returns 0 where they would pass the limit.
static int reserve(dst_arena *a, int64_t n) {
    int64_t used = __atomic_load_n(a->used, __ATOMIC_RELAXED), now;
    do {
        if (a->max > 0 && n > a->max - used)
            return 0;
        now = used + n;
    } while (!__atomic_compare_exchange_n(a->used, &used, now, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    int64_t peak = __atomic_load_n(a->peak, __ATOMIC_RELAXED);
    while (now > peak && !__atomic_compare_exchange_n(a->peak, &peak, now, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return 1;
}

static void unreserve(dst_arena *a, int64_t n) { __atomic_fetch_sub(a->used, n, __ATOMIC_ACQ_REL); }

// map_large maps size bytes (a multiple of PAGE) of zeros behind a header.
static dst_block *map_large(int64_t size, int prot) {
    int64_t align = size >= HUGE_AT ? HUGE_PAGE : PAGE;
    int64_t whole = PAGE + size + (align - PAGE);
    char *base = mmap(0, whole, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return 0;
    char *data = (char *)(((uintptr_t)base + PAGE + align - 1) / align * align);
    if (data - PAGE > base)
        munmap(base, data - PAGE - base);
    if (base + whole > data + size)
        munmap(data + size, base + whole - (data + size));
    return (dst_block *)data - 1;
}

static void unmap_large(dst_block *b) {
    char *data = data_of(b);
    munmap(data - PAGE, PAGE + b->size);
}

static void destroy(dst_block *b) {
    if (b->large) {
        unmap_large(b);
    } else {
        b->magic = 0;
        free(b);
    }
}

// from_pool takes the smallest block of the pool that holds size bytes and not
// so many times as many. The caller holds the lock.
static dst_block *from_pool(dst_arena *a, int64_t size, int64_t times) {
    dst_block **best = 0;
    for (dst_block **p = &a->pool; *p; p = &(*p)->next)
        if ((*p)->size >= size && (*p)->size / times <= size && (!best || (*p)->size < (*best)->size))
            best = p;
    if (!best)
        return 0;
    dst_block *b = *best;
    *best = b->next;
    a->pooled -= b->size;
    return b;
}

// drain frees the pool. The caller holds the lock.
static void drain(dst_arena *a) {
    while (a->pool) {
        dst_block *b = a->pool;
        a->pool = b->next;
        a->pooled -= b->size;
        destroy(b);
    }
}

// reused takes a block of the pool for size bytes, of at most so many times as many, and
// counts it. Where there is none it returns 0, and what the pool keeps does not make the
// rank larger than its limit with size bytes more.
static dst_block *reused(dst_arena *a, int64_t size, int zero, int64_t times) {
    dst_block *b = 0;
    pthread_mutex_lock(&a->lock);
    if (a->pool && !(zero && size >= FRESH_ZERO))
        b = from_pool(a, size, times);
    if (!b && a->pool && a->max > 0 && size + a->pooled > a->max - __atomic_load_n(a->used, __ATOMIC_RELAXED))
        drain(a);
    pthread_mutex_unlock(&a->lock);
    if (b && !reserve(a, b->size)) { // it may be larger than what was asked for
        destroy(b);
        b = 0;
    }
    if (b && zero)
        memset(data_of(b), 0, b->size);
    return b;
}

static dst_block *new_large(dst_arena *a, int64_t size, int zero, int *by_system) {
    size = round_up(size, PAGE);
    dst_block *b = reused(a, size, zero, 2);
    if (b)
        return b;
    if (!reserve(a, size))
        return 0;
    b = map_large(size, PROT_READ | PROT_WRITE);
    if (!b) {
        unreserve(a, size);
        *by_system = 1;
        return 0;
    }
    if (size >= HUGE_AT)
        madvise(data_of(b), size, MADV_HUGEPAGE); // a hint
    b->size = size;
    b->large = 1;
    b->magic = MAGIC;
    return b;
}

static dst_block *new_small(dst_arena *a, int64_t size, int zero, int *by_system) {
    size = round_up(size, 64);
    dst_block *b = size >= POOLED ? reused(a, size, zero, 1) : 0;
    if (b)
        return b;
    if (!reserve(a, size))
        return 0;
    b = aligned_alloc(64, sizeof *b + size);
    if (!b) {
        unreserve(a, size);
        *by_system = 1;
        return 0;
    }
    b->size = size;
    b->large = 0;
    b->magic = MAGIC;
    if (zero)
        memset(data_of(b), 0, size);
    return b;
}

static dst_block *new_block(dst_arena *a, int64_t size, int zero, int *by_system) {
    if (size < 0 || size > MOST)
        return 0;
    if (size == 0)
        size = 1;
    return size >= LARGE ? new_large(a, size, zero, by_system) : new_small(a, size, zero, by_system);
}

// to_pool puts a block of POOLED bytes or more into the pool, where it is for reuse or a leaf
// frees it within its call, and there is a place.
static int to_pool(dst_arena *a, dst_block *b, int within) {
    int kept = 0;
    if (b->size < POOLED)
        return 0;
    pthread_mutex_lock(&a->lock);
    if (a->reuse || within) {
        int n = 0;
        for (dst_block *p = a->pool; p; p = p->next)
            n++;
        if (n < (b->large ? POOL_BLOCKS : POOL_BLOCKS / 2)) {
            b->next = a->pool;
            a->pool = b;
            a->pooled += b->size;
            kept = 1;
        }
    }
    pthread_mutex_unlock(&a->lock);
    return kept;
}

// free_block frees a block that stands in no list. within says that a leaf frees
// it while it runs, and may soon want another: the call's end empties the pool.
static void free_block(dst_arena *a, dst_block *b, int within) {
    unreserve(a, b->size);
    __atomic_fetch_sub(&a->live, 1, __ATOMIC_ACQ_REL);
    if (to_pool(a, b, within))
        return;
    destroy(b);
}

static void link_block(dst_call *c, dst_block *b) {
    pthread_mutex_lock(&c->arena->lock);
    b->prev = 0;
    b->next = c->blocks;
    if (b->next)
        b->next->prev = b;
    c->blocks = b;
    pthread_mutex_unlock(&c->arena->lock);
}

static void unlink_block(dst_call *c, dst_block *b) {
    pthread_mutex_lock(&c->arena->lock);
    if (b->next)
        b->next->prev = b->prev;
    if (b->prev)
        b->prev->next = b->next;
    else
        c->blocks = b->next;
    pthread_mutex_unlock(&c->arena->lock);
}

static void refuse(dst_call *c, int64_t bytes, int by_system) {
    __atomic_store_n(&c->in_use, __atomic_load_n(c->arena->used, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&c->refused, bytes > 0 ? bytes : INT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&c->by_system, by_system, __ATOMIC_RELAXED);
}

static void *call_alloc(dst_env *env, int64_t bytes, int32_t zero) {
    dst_call *c = (dst_call *)env;
    int by_system = 0;
    dst_block *b = new_block(c->arena, bytes, zero, &by_system);
    if (!b) {
        refuse(c, bytes, by_system);
        return 0;
    }
    __atomic_fetch_add(&c->arena->live, 1, __ATOMIC_ACQ_REL);
    link_block(c, b);
    return data_of(b);
}

static void call_release(dst_env *env, void *ptr) {
    dst_call *c = (dst_call *)env;
    if (!ptr)
        return;
    dst_block *b = block_of(ptr);
    unlink_block(c, b);
    free_block(c->arena, b, 1);
}

// move_pages moves the old_size bytes at from to the mapping at to, of size bytes.
// UCX, under MPICH and Open MPI, puts a function of four arguments in the place of
// mremap, which loses the fifth, so that pages would go anywhere: the kernel itself
// is asked. What UCX remembers of the addresses at from (memory registered
// with an adapter) it forgets at a mremap of them, here one that changes nothing.
static int move_pages(void *from, int64_t old_size, void *to, int64_t size) {
    if (mremap(from, old_size, old_size, 0) != from)
        return 0;
    return (void *)syscall(SYS_mremap, from, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

// GROWN is how many times as large as what is asked for a block for reuse may be in
// which an array goes on growing: it will want more, as it did before.
#define GROWN 4

// grow_pooled copies the bytes of a block that stands in no list to a larger one of the
// pool, whose pages are there, while blocks are for reuse. It returns 0 where there is none.
static dst_block *grow_pooled(dst_arena *a, dst_block *b, int64_t bytes, int64_t size) {
    pthread_mutex_lock(&a->lock);
    dst_block *n = a->reuse ? from_pool(a, size, GROWN) : 0;
    pthread_mutex_unlock(&a->lock);
    if (!n)
        return 0;
    if (!reserve(a, n->size)) {
        if (!to_pool(a, n, 0))
            destroy(n);
        return 0;
    }
    memcpy(data_of(n), data_of(b), bytes < b->size ? bytes : b->size);
    unreserve(a, b->size);
    if (!to_pool(a, b, 1))
        destroy(b);
    return n;
}

// grow_large moves a large block, which stands in no list, to a larger mapping:
// in place if the addresses behind it are free, else by its page tables. It
// returns 0, and the block as it was, where that fails.
static dst_block *grow_large(dst_arena *a, dst_block *b, int64_t size, int *by_system) {
    size = round_up(size, PAGE);
    int64_t more = size - b->size;
    pthread_mutex_lock(&a->lock);
    if (a->pool && a->max > 0 && more + a->pooled > a->max - __atomic_load_n(a->used, __ATOMIC_RELAXED))
        drain(a);
    pthread_mutex_unlock(&a->lock);
    if (!reserve(a, more))
        return 0;
    int huge_before = b->size >= HUGE_AT;
    if (size < HUGE_AT || huge_before) { // else it wants an aligned place
        if (mremap(data_of(b), b->size, size, 0) != MAP_FAILED) {
            b->size = size;
            return b;
        }
    }
    dst_block *n = map_large(size, PROT_READ | PROT_WRITE);
    if (!n) {
        unreserve(a, more);
        *by_system = 1;
        return 0;
    }
    int64_t old_size = b->size;
    if (!move_pages(data_of(b), old_size, data_of(n), size)) {
        munmap((char *)data_of(n) - PAGE, PAGE + size);
        unreserve(a, more);
        *by_system = 1;
        return 0;
    }
    if (size >= HUGE_AT)
        madvise(data_of(n), size, MADV_HUGEPAGE);
    *n = *b;
    n->size = size;
    munmap((char *)data_of(b) - PAGE, PAGE);
    return n;
}

static void *call_grow(dst_env *env, void *ptr, int64_t old_bytes, int64_t new_bytes) {
    dst_call *c = (dst_call *)env;
    if (!ptr)
        return call_alloc(env, new_bytes, 0);
    dst_block *b = block_of(ptr);
    if (new_bytes >= 0 && new_bytes <= b->size)
        return ptr;
    int by_system = 0;
    if (b->large && new_bytes > 0 && new_bytes <= MOST) {
        unlink_block(c, b);
        dst_block *n = grow_pooled(c->arena, b, old_bytes, new_bytes);
        if (!n)
            n = grow_large(c->arena, b, new_bytes, &by_system);
        link_block(c, n ? n : b);
        if (!n) {
            refuse(c, new_bytes, by_system);
            return 0;
        }
        return data_of(n);
    }
    dst_block *n = new_block(c->arena, new_bytes, 0, &by_system);
    if (!n) {
        refuse(c, new_bytes, by_system);
        return 0;
    }
    memcpy(data_of(n), ptr, old_bytes < b->size ? old_bytes : b->size);
    unlink_block(c, b);
    unreserve(c->arena, b->size);
    if (!to_pool(c->arena, b, 1))
        destroy(b);
    link_block(c, n);
    return data_of(n);
}

// A leaf is not left (guard.c) while it holds an arena's lock or is in the C library's allocator.

static void *leaf_alloc(dst_env *env, int64_t bytes, int32_t zero) {
    dst_guard_held++;
    void *p = call_alloc(env, bytes, zero);
    dst_guard_held--;
    return p;
}

static void *leaf_grow(dst_env *env, void *ptr, int64_t old_bytes, int64_t new_bytes) {
    dst_guard_held++;
    void *p = call_grow(env, ptr, old_bytes, new_bytes);
    dst_guard_held--;
    return p;
}

static void leaf_release(dst_env *env, void *ptr, int64_t bytes) {
    (void)bytes; // the header knows
    dst_guard_held++;
    call_release(env, ptr);
    dst_guard_held--;
}

dst_arena *dst_arena_new(int64_t *used, int64_t *peak, int64_t max) {
    dst_arena *a = calloc(1, sizeof *a);
    if (!a)
        return 0;
    a->used = used;
    a->peak = peak;
    a->max = max;
    pthread_mutex_init(&a->lock, 0);
    return a;
}

void dst_arena_delete(dst_arena *a) {
    drain(a);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

void dst_arena_reuse(dst_arena *a, int on) {
    pthread_mutex_lock(&a->lock);
    a->reuse = on;
    if (!on)
        drain(a);
    pthread_mutex_unlock(&a->lock);
}

int64_t dst_arena_live(dst_arena *a) { return __atomic_load_n(&a->live, __ATOMIC_ACQUIRE); }

int64_t dst_arena_pooled(dst_arena *a) {
    pthread_mutex_lock(&a->lock);
    int64_t n = a->pooled;
    pthread_mutex_unlock(&a->lock);
    return n;
}

void dst_call_init(dst_call *c, dst_arena *a, int32_t threads) {
    memset(c, 0, sizeof *c);
    c->env.threads = threads;
    c->env.alloc = leaf_alloc;
    c->env.grow = leaf_grow;
    c->env.release = leaf_release;
    c->env.gemm = dst_blas_gemm;
    c->arena = a;
}

int64_t dst_call_take(dst_call *c, void *ptr, int64_t keep) {
    for (dst_block *b = c->blocks; b; b = b->next) {
        if (data_of(b) != ptr)
            continue;
        unlink_block(c, b);
        // A block for reuse keeps its size: the next call wants as much.
        int64_t size = round_up(keep > 0 ? keep : 1, PAGE);
        if (b->large && !c->arena->reuse && size < b->size) {
            munmap((char *)ptr + size, b->size - size);
            unreserve(c->arena, b->size - size);
            b->size = size;
        }
        return b->size;
    }
    return -1;
}

int64_t dst_call_finish(dst_call *c) {
    int64_t n = 0;
    while (c->blocks) {
        dst_block *b = c->blocks;
        unlink_block(c, b);
        free_block(c->arena, b, 0);
        n++;
    }
    pthread_mutex_lock(&c->arena->lock);
    if (!c->arena->reuse)
        drain(c->arena);
    pthread_mutex_unlock(&c->arena->lock);
    return n;
}

void *dst_block_new(dst_arena *a, int64_t bytes, int64_t *size, int *by_system) {
    *by_system = 0;
    dst_block *b = new_block(a, bytes, 0, by_system);
    if (!b)
        return 0;
    __atomic_fetch_add(&a->live, 1, __ATOMIC_ACQ_REL);
    *size = b->size;
    return data_of(b);
}

void dst_block_free(dst_arena *a, void *ptr) { free_block(a, block_of(ptr), 0); }
