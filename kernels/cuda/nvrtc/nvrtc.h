// NVRTC's functions, looked up at run time, so no header of CUDA is needed. See nvrtc.c.
#ifndef DST_NVRTC_H
#define DST_NVRTC_H

#include <stddef.h>

typedef struct dst_program *dst_program;

// dst_nvrtc is an open libnvrtc. Functions that old versions lack are null.
typedef struct {
    void *handle;
    const char *(*error_string)(int);
    int (*version)(int *, int *);
    int (*num_archs)(int *);
    int (*archs)(int *);
    int (*create)(dst_program *, const char *, const char *, int, const char *const *,
        const char *const *);
    int (*compile)(dst_program, int, const char *const *);
    int (*destroy)(dst_program *);
    int (*log_size)(dst_program, size_t *);
    int (*log)(dst_program, char *);
    int (*ptx_size)(dst_program, size_t *);
    int (*ptx)(dst_program, char *);
    int (*cubin_size)(dst_program, size_t *);
    int (*cubin)(dst_program, char *);
} dst_nvrtc;

// dst_nvrtc_open fills n from the library at path. It returns NULL, or an error text that the
// caller frees.
char *dst_nvrtc_open(dst_nvrtc *n, const char *path);

const char *dst_nvrtc_error(dst_nvrtc *n, int code);
int dst_nvrtc_version(dst_nvrtc *n, int *major, int *minor);
// dst_nvrtc_archs returns the number of supported architectures. It stores at most room
// architectures in list.
int dst_nvrtc_archs(dst_nvrtc *n, int *list, int room);

// dst_nvrtc_compile compiles source to a cubin or to PTX. It returns NVRTC's result code. The
// caller frees log and image; each is NULL if there is none.
int dst_nvrtc_compile(dst_nvrtc *n, const char *source, const char *name,
    const char *const *options, int count,
                      int cubin, char **log, char **image, size_t *size);

#endif
