#ifndef DST_BUILTIN_TABLE_H
#define DST_BUILTIN_TABLE_H

// The address of built-in leaf i.
void *dst_builtin(int i);

#endif
