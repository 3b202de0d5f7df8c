#define _GNU_SOURCE
#include "nvrtc.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 1 };

char *dst_nvrtc_open(dst_nvrtc *n, const char *path) {
    memset(n, 0, sizeof *n);
    n->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!n->handle) {
        const char *said = dlerror();
        return strdup(said ? said : "dlopen failed");
    }
    const struct {
        const char *name;
        void *to;
        int needed;
    } functions[] = {
        {"nvrtcGetErrorString", &n->error_string, 1},
        {"nvrtcVersion", &n->version, 1},
        {"nvrtcGetNumSupportedArchs", &n->num_archs, 0},
        {"nvrtcGetSupportedArchs", &n->archs, 0},
        {"nvrtcCreateProgram", &n->create, 1},
        {"nvrtcCompileProgram", &n->compile, 1},
        {"nvrtcDestroyProgram", &n->destroy, 1},
        {"nvrtcGetProgramLogSize", &n->log_size, 1},
        {"nvrtcGetProgramLog", &n->log, 1},
        {"nvrtcGetPTXSize", &n->ptx_size, 1},
        {"nvrtcGetPTX", &n->ptx, 1},
        {"nvrtcGetCUBINSize", &n->cubin_size, 0},
        {"nvrtcGetCUBIN", &n->cubin, 0},
    };
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(n->handle, functions[i].name);
        memcpy(functions[i].to, &f, sizeof f);
        if (!f && functions[i].needed) {
            char *why = 0;
            if (asprintf(&why, "it has no function %s", functions[i].name) < 0)
                why = strdup("it lacks functions");
            dlclose(n->handle);
            return why;
        }
    }
    dlerror();
    return 0;
}

const char *dst_nvrtc_error(dst_nvrtc *n, int code) { return n->error_string(code); }

int dst_nvrtc_version(dst_nvrtc *n, int *major, int *minor) { return n->version(major, minor); }

int dst_nvrtc_archs(dst_nvrtc *n, int *list, int room) {
    int count = 0;
    if (!n->num_archs || !n->archs || n->num_archs(&count) || count > room || n->archs(list))
        return 0;
    return count;
}

static int image_of(dst_nvrtc *n, dst_program p, int cubin, char **image, size_t *size) {
    int rc = cubin ? n->cubin_size(p, size) : n->ptx_size(p, size);
    if (rc)
        return rc;
    *image = malloc(*size + 1);
    if (!*image)
        return OUT_OF_MEMORY;
    return cubin ? n->cubin(p, *image) : n->ptx(p, *image);
}

static void log_of(dst_nvrtc *n, dst_program p, char **log) {
    size_t size = 0;
    if (n->log_size(p, &size) || size < 2)
        return;
    *log = calloc(size + 1, 1);
    if (*log && n->log(p, *log)) {
        free(*log);
        *log = 0;
    }
}

int dst_nvrtc_compile(dst_nvrtc *n, const char *source, const char *name,
    const char *const *options, int count,
                      int cubin, char **log, char **image, size_t *size) {
    dst_program p = 0;
    int rc = n->create(&p, source, name, 0, 0, 0);
    if (rc)
        return rc;
    rc = n->compile(p, count, options);
    log_of(n, p, log);
    if (!rc)
        rc = image_of(n, p, cubin, image, size);
    n->destroy(&p);
    return rc;
}
