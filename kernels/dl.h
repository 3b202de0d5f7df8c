// Loading and calling objects. See dl.c.
#ifndef DST_DL_H
#define DST_DL_H

#include "arena.h"

void *dst_open(const char *path, char **why);
// dst_close returns 1 if the object is unloaded, or 0 if something keeps it in memory.
int dst_close(void *handle, const char *path);
void *dst_symbol(void *handle, const char *name);
// dst_run returns the result of the leaf. It returns DST_STOPPED if the leaf was abandoned or not
// called (see guard.h). Then c->fault has the reason, and the caller must neither finish nor free
// c. progress may be null.
enum { DST_STOPPED = -1000 };
int dst_run(void *leaf, dst_tensor **t, const int64_t (*bounds)[2], const char *values, dst_call *c,
    dst_arena *a, int32_t threads, dst_progress *progress);

#endif
