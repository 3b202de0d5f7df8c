// The allocator of leaves. See arena.c.
#ifndef DST_ARENA_H
#define DST_ARENA_H

#include <stdint.h>

#include "dst.h"
#include "guard.h"
#include <pthread.h>

typedef struct dst_block dst_block;

// An arena counts the bytes of a rank's leaves and keeps freed blocks for reuse.
typedef struct {
    int64_t *used, *peak; // shared with the rest of the rank, changed atomically
    int64_t max;          // the most that *used may be; 0: no limit
    int64_t live;         // blocks handed out and not freed
    pthread_mutex_t lock; // over what follows, and over every call's list
    int reuse;            // freed blocks go to the pool
    dst_block *pool;
    int64_t pooled;       // bytes in the pool, which *used does not count
} dst_arena;

// A call is the environment of one call of a leaf: what the leaf sees of it
// (env, first) and the blocks that it has allocated and not released.
typedef struct {
    dst_env env;
    dst_arena *arena;
    dst_block *blocks;
    int64_t refused;   // bytes that were asked for and refused; 0: none were
    int64_t in_use;    // bytes in use at that moment
    int32_t by_system; // the refusal was the system's, not the limit's
    dst_fault fault;   // of a call that was left in its middle
} dst_call;

dst_arena *dst_arena_new(int64_t *used, int64_t *peak, int64_t max);
void dst_arena_delete(dst_arena *a);
void dst_arena_reuse(dst_arena *a, int on);
int64_t dst_arena_live(dst_arena *a);
int64_t dst_arena_pooled(dst_arena *a);

void dst_call_init(dst_call *c, dst_arena *a, int32_t threads);
// dst_call_take takes the block at ptr out of the call, so that it outlives it,
// gives back what lies behind its first keep bytes, and returns its size, or -1
// if ptr is no block of this call.
int64_t dst_call_take(dst_call *c, void *ptr, int64_t keep);
// dst_call_finish frees the blocks that are left and returns how many they were.
int64_t dst_call_finish(dst_call *c);
// dst_block_new makes a block that stands in no call, its bytes anything; 0 where
// the limit or (then *by_system is 1) the system refuses. *size is its size.
void *dst_block_new(dst_arena *a, int64_t bytes, int64_t *size, int *by_system);
// dst_block_free frees a block that was taken, or made by dst_block_new.
void dst_block_free(dst_arena *a, void *ptr);

#endif
