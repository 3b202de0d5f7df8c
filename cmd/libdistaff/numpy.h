#ifndef DISTAFF_NUMPY_H
#define DISTAFF_NUMPY_H

#include "distaff.h"

/* An array that a call reads or writes. object is the array (its id), type and descr the ids of its
 * type and its dtype. If sizes is NULL, the array has one dimension of any size and elements that
 * follow one another; otherwise it has these sizes and strides in bytes. The address of its data is
 * stored in *data, and, if count is not NULL, its number of elements in *count. */
typedef struct {
    const void *object, *type, *descr;
    int64_t nd, bytes, writes;
    const int64_t *sizes, *strides;
    void **data;
    int64_t *count;
} distaff_numpy_array;

typedef struct {
    const int64_t *from;
    int64_t *to;
} distaff_numpy_copy;

typedef struct {
    distaff_statement *statement;
    int64_t narrays;
    distaff_numpy_array *arrays;
    int64_t ncopies;
    distaff_numpy_copy *copies; /* made after the arrays are read: lengths that occur twice */
    distaff_tensor *operands, *result;
    distaff_error *error;
} distaff_numpy_call;

/* Runs the statement of c on its arrays. Returns -1 and runs nothing if an array is not as c says. */
int32_t distaff_numpy_run(const distaff_numpy_call *c);

/* Whether the fields of an array are where this file expects them: for a test with known values. */
int32_t distaff_numpy_fits(const void *object, const void *data, int64_t nd, const int64_t *sizes,
                           const int64_t *strides, const void *descr);

/* Python's own functions. If a handler of a signal raised an exception, distaff_python_interrupted
 * returns 1 and stores it in type and value, whose references the package takes. */
typedef struct {
    int (*ensure)(void);
    void (*release)(int);
    int (*check_signals)(void);
    void (*fetch)(void **type, void **value, void **trace);
    void *type, *value;
} distaff_python;

/* A function for distaff_options.interrupted, whose user is a distaff_python. */
int32_t distaff_python_interrupted(void *user);

#endif
