#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

dst_cuda *dst_cuda_open(const char *path, char **why, const char **missing) {
    *why = 0;
    *missing = 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        *why = strdup(text ? text : "dlopen failed");
        return 0;
    }
    dst_cuda *d = calloc(1, sizeof *d);
    if (!d) {
        *why = strdup("no memory");
        dlclose(handle);
        return 0;
    }
#define DST_X(name, symbol, params, args) \
    *(void **)&d->name = dlsym(handle, symbol); \
    if (!d->name && !*missing) \
        *missing = symbol;
    DST_CUDA_CALLS(DST_X)
#undef DST_X
    if (*missing) {
        free(d);
        dlclose(handle);
        return 0;
    }
    return d; // the library stays: the driver has threads and handlers of its own
}
