/* What the Python package needs: runs on NumPy arrays by one foreign call, and signals during runs.
 * The file reads the fields of NumPy's array object, which are the same in all versions of NumPy; the
 * package checks that when it is imported, and otherwise does not use them. */
#include "numpy.h"

#include <string.h>

/* The start of PyArrayObject. */
typedef struct {
    intptr_t refcount;
    const void *type;
    char *data;
    int nd;
    intptr_t *sizes, *strides;
    const void *base, *descr;
    int flags;
} array;

enum { ALIGNED = 0x100, WRITEABLE = 0x400 };

static int take(const distaff_numpy_array *a) {
    const array *x = a->object;
    if (x == NULL || x->type != a->type || x->descr != a->descr || x->nd != a->nd ||
        !(x->flags & ALIGNED))
        return 0;
    int64_t n = 1;
    if (a->sizes == NULL) { /* a list of any length */
        n = x->sizes[0];
        if (n > 1 && x->strides[0] != a->bytes)
            return 0;
    } else
        for (int k = 0; k < a->nd; k++) {
            if (x->sizes[k] != a->sizes[k] || (a->sizes[k] > 1 && x->strides[k] != a->strides[k]))
                return 0;
            n *= a->sizes[k];
        }
    if (a->writes && !(x->flags & WRITEABLE))
        return 0;
    *a->data = x->data;
    if (a->count != NULL)
        *a->count = n;
    return 1;
}

int32_t distaff_numpy_run(const distaff_numpy_call *c) {
    for (int64_t k = 0; k < c->narrays; k++)
        if (!take(&c->arrays[k]))
            return -1;
    for (int64_t k = 0; k < c->ncopies; k++)
        *c->copies[k].to = *c->copies[k].from;
    return distaff_run(c->statement, c->operands, c->result, c->error);
}

int32_t distaff_numpy_fits(const void *object, const void *data, int64_t nd, const int64_t *sizes,
                           const int64_t *strides, const void *descr) {
    const array *x = object;
    if (x->data != data || x->nd != nd || x->descr != descr || !(x->flags & ALIGNED) ||
        !(x->flags & WRITEABLE))
        return 0;
    return memcmp(x->sizes, sizes, nd * sizeof *sizes) == 0 &&
           memcmp(x->strides, strides, nd * sizeof *strides) == 0;
}

int32_t distaff_python_interrupted(void *user) {
    distaff_python *p = user;
    int state = p->ensure(), raised = p->check_signals() != 0;
    if (raised) {
        void *trace = NULL;
        p->fetch(&p->type, &p->value, &trace);
    }
    p->release(state);
    return raised;
}
