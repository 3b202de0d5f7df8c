// The C interface of a leaf: the same text that generated leaves begin with.
#ifndef DST_ABI_H
#define DST_ABI_H

#include <stdint.h>

// An array of len elements; first is the position of ptr[0] in the whole tensor.
typedef struct {
    void *ptr;
    int64_t len;
    int64_t first;
} dst_array;

typedef struct {
    int64_t size, offset;
    dst_array pos, crd;
} dst_level;

typedef struct {
    int32_t order;
    int32_t nlevels;
    dst_level *levels;
    dst_array vals;
} dst_tensor;

typedef struct dst_env {
    int32_t threads;
    void *(*alloc)(struct dst_env *, int64_t bytes, int32_t zero);
    void *(*grow)(struct dst_env *, void *, int64_t old_bytes, int64_t new_bytes);
    void (*release)(struct dst_env *, void *, int64_t bytes);
    int32_t fail_ncoord;
    int64_t fail_coord[16];
} dst_env;

#endif
