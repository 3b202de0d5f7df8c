#ifndef DISTAFF_CHECK_H
#define DISTAFF_CHECK_H

#include "distaff.h"

/* The layout that a statement was prepared for, of one operand. kinds has the kind of each level,
 * modes its mode, widths the bytes of its positions and coordinates: 0 for arrays that it lacks. */
typedef struct {
    const char *type, *format, *kinds;
    int32_t order, value_bytes;
    const int32_t *modes;
    const int64_t *sizes;
    const int32_t (*widths)[2];
} distaff_layout;

enum { CHECK_OK, CHECK_LAYOUT, CHECK_UNKNOWN };

/* Checks that each of n tensors has its layout, and that its positions and coordinates are right.
 * Returns CHECK_OK, or, for tensor *which, CHECK_LAYOUT if it has another layout, and CHECK_UNKNOWN
 * if it is wrong or has kinds of levels other than d, s, and u and c followed by q. */
int32_t distaff_check(int32_t n, const distaff_tensor *t, const distaff_layout *want, int32_t *which);

#endif
