// Loading and calling objects. See dl.c.
#ifndef DST_DL_H
#define DST_DL_H

#include "arena.h"

void *dst_open(const char *path, char **why);
// dst_close returns 1 if the object is gone from memory, 0 if something keeps it.
int dst_close(void *handle, const char *path);
void *dst_symbol(void *handle, const char *name);
// dst_run returns what the leaf does, or DST_STOPPED where it was left in its middle or not
// called (see guard.h): the reason is in c->fault, and c is not to be finished or freed.
enum { DST_STOPPED = -1000 };
int dst_run(void *leaf, dst_tensor **t, const int64_t (*bounds)[2], dst_call *c, dst_arena *a, int32_t threads);

#endif
