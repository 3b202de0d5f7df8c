// The allocator of leaves. Any thread of a leaf may call it. It counts bytes against a limit that
// the whole rank shares. Large blocks are mapped separately, aligned and advised for huge pages, so
// they grow by moving page tables instead of data.
//
// A block's header is in the 64 bytes before its data. A large block is [one page, which ends with
// the header][data], so the data can start at a huge page.

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
// Blocks of LARGE bytes or more are mapped, blocks of HUGE_AT bytes or more in huge pages.
#define LARGE ((int64_t)256 << 10)
#define HUGE_AT ((int64_t)4 << 20)
// The largest request. With this limit, sums of sizes cannot overflow.
#define MAX_REQUEST ((int64_t)1 << 56)
// Freed blocks of POOLED bytes or more may go into the pool. The C library reuses smaller blocks
// itself. Larger blocks at the end of its heap it would return to the system and request again,
// which costs a fault for each page.
#define POOLED ((int64_t)16 << 10)
// POOL_BLOCKS is the largest number of blocks in the pool. A result of five levels in 16 pieces
// needs 128 of them. Blocks that are not large get at most half. A zeroed block of FRESH_ZERO bytes
// or more is not taken from the pool: fresh pages are zeroed one by one by the threads that use
// them.
#define POOL_BLOCKS 512
#define FRESH_ZERO ((int64_t)64 << 20)

struct dst_block {
    dst_block *prev, *next; // in its call's list, or in the pool
    int64_t size; // bytes of data, counted in *used
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
        abort(); // a leaf passed a pointer that is not a block: memory is corrupt
    return b;
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// reserve counts n more bytes. It returns 0 if they would exceed the limit.
static int reserve(dst_arena *a, int64_t n) {
    int64_t used = __atomic_load_n(a->used, __ATOMIC_RELAXED), now;
    do {
        if (a->max > 0 && n > a->max - used)
            return 0;
        now = used + n;
    } while (!__atomic_compare_exchange_n(a->used, &used, now, 1, __ATOMIC_ACQ_REL,
        __ATOMIC_RELAXED));
    int64_t peak = __atomic_load_n(a->peak, __ATOMIC_RELAXED);
    while (now > peak && !__atomic_compare_exchange_n(a->peak, &peak, now, 1, __ATOMIC_ACQ_REL,
        __ATOMIC_RELAXED))
        ;
    return 1;
}

static void unreserve(dst_arena *a, int64_t n) { __atomic_fetch_sub(a->used, n, __ATOMIC_ACQ_REL); }

// map_large maps size bytes (a multiple of PAGE) of zeros after a header.
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

// from_pool takes the smallest block of the pool with at least size bytes and at most about times *
// size bytes. The caller holds the lock.
static dst_block *from_pool(dst_arena *a, int64_t size, int64_t times) {
    dst_block **best = 0;
    for (dst_block **p = &a->pool; *p; p = &(*p)->next)
        if ((*p)->size >= size && (*p)->size / times <= size &&
            (!best || (*p)->size < (*best)->size))
            best = p;
    if (!best)
        return 0;
    dst_block *b = *best;
    *best = b->next;
    a->pooled -= b->size;
    return b;
}

// drain_pool frees all blocks of the pool. The caller holds the lock.
static void drain_pool(dst_arena *a) {
    while (a->pool) {
        dst_block *b = a->pool;
        a->pool = b->next;
        a->pooled -= b->size;
        destroy(b);
    }
}

// take_pooled takes a block of at least size bytes and at most about times * size bytes from the
// pool, and counts it. It returns 0 if there is none. Then it also ensures that the pool leaves
// room for size more bytes under the rank's limit.
static dst_block *take_pooled(dst_arena *a, int64_t size, int zero, int64_t times) {
    dst_block *b = 0;
    pthread_mutex_lock(&a->lock);
    if (a->pool && !(zero && size >= FRESH_ZERO))
        b = from_pool(a, size, times);
    if (!b && a->pool && a->max > 0 && size + a->pooled > a->max - __atomic_load_n(a->used,
        __ATOMIC_RELAXED))
        drain_pool(a);
    pthread_mutex_unlock(&a->lock);
    if (b && !reserve(a, b->size)) { // it may be larger than requested
        destroy(b);
        b = 0;
    }
    if (b && zero)
        memset(data_of(b), 0, b->size);
    return b;
}

static dst_block *new_large(dst_arena *a, int64_t size, int zero, int *by_system) {
    size = round_up(size, PAGE);
    dst_block *b = take_pooled(a, size, zero, 2);
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
    dst_block *b = size >= POOLED ? take_pooled(a, size, zero, 1) : 0;
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
    if (size < 0 || size > MAX_REQUEST)
        return 0;
    if (size == 0)
        size = 1;
    return size >= LARGE ? new_large(a, size, zero, by_system) : new_small(a, size, zero,
        by_system);
}

// to_pool puts a block of POOLED bytes or more into the pool and returns 1. It does so only if
// blocks are kept for reuse or a leaf frees the block during its call (within), and if the pool has
// room.
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

// free_block frees a block that is in no list. within means that a running leaf frees it and may
// soon need another one. The pool is emptied at the end of the call unless blocks are kept for
// reuse.
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
    __atomic_store_n(&c->in_use, __atomic_load_n(c->arena->used, __ATOMIC_RELAXED),
        __ATOMIC_RELAXED);
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

// move_pages moves the old_size bytes at from to the mapping at to, which has size bytes. UCX,
// which MPICH and Open MPI use, replaces mremap by a function of four arguments and loses the
// fifth, so the pages would go to an arbitrary address. Therefore move_pages calls the kernel
// directly. UCX also remembers addresses of memory that is registered with a network adapter, and
// forgets them when mremap is called for them. The first mremap, which changes nothing, makes it
// forget the addresses at from.
static int move_pages(void *from, int64_t old_size, void *to, int64_t size) {
    if (mremap(from, old_size, old_size, 0) != from)
        return 0;
    return (void *)syscall(SYS_mremap, from, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
        to) == to;
}

// GROWN limits the size of a pooled block for an array that grows: at most about GROWN times the
// requested size. A larger block is useful because the array will probably grow further.
#define GROWN 4

// grow_pooled moves the contents of a block that is in no list to a larger block of the pool, whose
// pages already exist. It does so only while blocks are kept for reuse. It returns 0 if there is no
// such block.
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

// grow_large grows a large block that is in no list. It extends the mapping in place if the
// addresses after it are free. Otherwise it moves the page tables to a larger mapping. If that
// fails, it returns 0 and leaves the block unchanged.
static dst_block *grow_large(dst_arena *a, dst_block *b, int64_t size, int *by_system) {
    size = round_up(size, PAGE);
    int64_t more = size - b->size;
    pthread_mutex_lock(&a->lock);
    if (a->pool && a->max > 0 && more + a->pooled > a->max - __atomic_load_n(a->used,
        __ATOMIC_RELAXED))
        drain_pool(a);
    pthread_mutex_unlock(&a->lock);
    if (!reserve(a, more))
        return 0;
    int huge_before = b->size >= HUGE_AT;
    if (size < HUGE_AT || huge_before) { // otherwise it needs an aligned address
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
    if (b->large && new_bytes > 0 && new_bytes <= MAX_REQUEST) {
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

// A leaf is not abandoned (guard.c) while it holds an arena's lock or runs in the C library's
// allocator.

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
    (void)bytes; // the header has the size
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
    drain_pool(a);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

void dst_arena_reuse(dst_arena *a, int on) {
    pthread_mutex_lock(&a->lock);
    a->reuse = on;
    if (!on)
        drain_pool(a);
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
        // A block that is kept for reuse keeps its size, because the next call needs the same size.
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
        drain_pool(c->arena);
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
