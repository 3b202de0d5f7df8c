// The allocator of leaves. See arena.c.
#ifndef DST_ARENA_H
#define DST_ARENA_H

#include <stdint.h>

#include "dst.h"
#include "guard.h"
#include <pthread.h>

typedef struct dst_block dst_block;

// dst_arena counts the bytes of a rank's leaves and keeps freed blocks for reuse.
typedef struct {
    int64_t *used, *peak; // shared with the rest of the rank, changed atomically
    int64_t max; // limit of *used; 0 means no limit
    int64_t live; // number of blocks in use
    pthread_mutex_t lock; // guards the fields below and every call's list
    int reuse; // freed blocks go to the pool
    dst_block *pool;
    int64_t pooled; // bytes in the pool, which *used does not count
} dst_arena;

// dst_call is the environment of one call of a leaf: the part that the leaf sees (env, which must
// be first), and the blocks that the leaf has allocated and not released.
typedef struct {
    dst_env env;
    dst_arena *arena;
    dst_block *blocks;
    int64_t refused; // size of the refused request; 0 if none was refused
    int64_t in_use; // bytes in use at that moment
    int32_t by_system; // 1 if the system refused, 0 if the limit did
    dst_fault fault; // the fault of an abandoned call
} dst_call;

dst_arena *dst_arena_new(int64_t *used, int64_t *peak, int64_t max);
void dst_arena_delete(dst_arena *a);
void dst_arena_reuse(dst_arena *a, int on);
int64_t dst_arena_live(dst_arena *a);
int64_t dst_arena_pooled(dst_arena *a);

void dst_call_init(dst_call *c, dst_arena *a, int32_t threads);
// dst_call_take removes the block at ptr from the call, so that the block outlives the call. It
// returns the memory after the first keep bytes to the system. The result is the block's size, or
// -1 if ptr is not a block of this call.
int64_t dst_call_take(dst_call *c, void *ptr, int64_t keep);
// dst_call_finish frees the remaining blocks and returns their number.
int64_t dst_call_finish(dst_call *c);
// dst_block_new allocates an uninitialized block that belongs to no call, and stores its size in
// *size. It returns 0 if the limit or the system refuses; *by_system is 1 if the system did.
void *dst_block_new(dst_arena *a, int64_t bytes, int64_t *size, int *by_system);
// dst_block_free frees a block from dst_call_take or dst_block_new.
void dst_block_free(dst_arena *a, void *ptr);

#endif
