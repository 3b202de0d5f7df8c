// The CUDA driver, opened at run time: the types and functions that are used, with the names and
// signatures of the driver's documented interface.
#ifndef DST_CUDA_DRIVER_H
#define DST_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int dst_cu_device;
typedef unsigned long long dst_cu_ptr;
typedef void *dst_cu_handle; // a context, module, function, stream or event

#define DST_CU(...) __VA_ARGS__

// For each function: its name here, its symbol, its parameters, and their names.
#define DST_CUDA_CALLS(X)                                                                         \
    X(init, "cuInit", DST_CU(unsigned flags), DST_CU(flags))                                      \
    X(driver_version, "cuDriverGetVersion", DST_CU(int *version), DST_CU(version))                \
    X(device_count, "cuDeviceGetCount", DST_CU(int *count), DST_CU(count))                        \
    X(device_get, "cuDeviceGet", DST_CU(dst_cu_device *d, int ordinal), DST_CU(d, ordinal))       \
    X(device_name, "cuDeviceGetName", DST_CU(char *name, int len, dst_cu_device d), DST_CU(name,  \
        len, d))                                                                                  \
    X(device_total, "cuDeviceTotalMem_v2", DST_CU(size_t *bytes, dst_cu_device d), DST_CU(bytes,  \
        d))                                                                                       \
    X(device_attribute, "cuDeviceGetAttribute", DST_CU(int *value, int attribute,                 \
        dst_cu_device d), DST_CU(value, attribute, d))                                            \
    X(context_retain, "cuDevicePrimaryCtxRetain", DST_CU(dst_cu_handle *c, dst_cu_device d),      \
        DST_CU(c, d))                                                                             \
    X(context_set, "cuCtxSetCurrent", DST_CU(dst_cu_handle c), DST_CU(c))                         \
    X(context_current, "cuCtxGetCurrent", DST_CU(dst_cu_handle *c), DST_CU(c))                    \
    X(mem_info, "cuMemGetInfo_v2", DST_CU(size_t *free, size_t *total), DST_CU(free, total))      \
    X(mem_alloc, "cuMemAlloc_v2", DST_CU(dst_cu_ptr *p, size_t bytes), DST_CU(p, bytes))          \
    X(mem_free, "cuMemFree_v2", DST_CU(dst_cu_ptr p), DST_CU(p))                                  \
    X(host_alloc, "cuMemHostAlloc", DST_CU(void **p, size_t bytes, unsigned flags), DST_CU(p,     \
        bytes, flags))                                                                            \
    X(host_free, "cuMemFreeHost", DST_CU(void *p), DST_CU(p))                                     \
    X(upload, "cuMemcpyHtoDAsync_v2", DST_CU(dst_cu_ptr to, const void *from, size_t n,           \
        dst_cu_handle s), DST_CU(to, from, n, s))                                                 \
    X(download, "cuMemcpyDtoHAsync_v2", DST_CU(void *to, dst_cu_ptr from, size_t n,               \
        dst_cu_handle s), DST_CU(to, from, n, s))                                                 \
    X(copy, "cuMemcpyDtoDAsync_v2", DST_CU(dst_cu_ptr to, dst_cu_ptr from, size_t n,              \
        dst_cu_handle s), DST_CU(to, from, n, s))                                                 \
    X(set8, "cuMemsetD8Async", DST_CU(dst_cu_ptr p, unsigned char b, size_t n, dst_cu_handle s),  \
        DST_CU(p, b, n, s))                                                                       \
    X(module_load, "cuModuleLoadDataEx", DST_CU(dst_cu_handle *m, const void *image, unsigned n,  \
        int *options, void **values),                                                             \
      DST_CU(m, image, n, options, values))                                                       \
    X(module_unload, "cuModuleUnload", DST_CU(dst_cu_handle m), DST_CU(m))                        \
    X(module_function, "cuModuleGetFunction", DST_CU(dst_cu_handle *f, dst_cu_handle m,           \
        const char *name), DST_CU(f, m, name))                                                    \
    X(function_attribute, "cuFuncSetAttribute", DST_CU(dst_cu_handle f, int attribute,            \
        int value), DST_CU(f, attribute, value))                                                  \
    X(launch, "cuLaunchKernel",                                                                   \
      DST_CU(dst_cu_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,    \
          unsigned bz, unsigned shared,                                                           \
             dst_cu_handle s, void **params, void **extra),                                       \
      DST_CU(f, gx, gy, gz, bx, by, bz, shared, s, params, extra))                                \
    X(stream_create, "cuStreamCreate", DST_CU(dst_cu_handle *s, unsigned flags), DST_CU(s,        \
        flags))                                                                                   \
    X(stream_wait, "cuStreamWaitEvent", DST_CU(dst_cu_handle s, dst_cu_handle e,                  \
        unsigned flags), DST_CU(s, e, flags))                                                     \
    X(stream_sync, "cuStreamSynchronize", DST_CU(dst_cu_handle s), DST_CU(s))                     \
    X(event_create, "cuEventCreate", DST_CU(dst_cu_handle *e, unsigned flags), DST_CU(e, flags))  \
    X(event_record, "cuEventRecord", DST_CU(dst_cu_handle e, dst_cu_handle s), DST_CU(e, s))      \
    X(event_sync, "cuEventSynchronize", DST_CU(dst_cu_handle e), DST_CU(e))                       \
    X(event_elapsed, "cuEventElapsedTime", DST_CU(float *ms, dst_cu_handle from,                  \
        dst_cu_handle to), DST_CU(ms, from, to))                                                  \
    X(error_name, "cuGetErrorName", DST_CU(int code, const char **text), DST_CU(code, text))      \
    X(error_text, "cuGetErrorString", DST_CU(int code, const char **text), DST_CU(code, text))

// The driver's functions. A function that the driver lacks is 0.
typedef struct {
#define DST_X(name, symbol, params, args) int (*name)(params);
    DST_CUDA_CALLS(DST_X)
#undef DST_X
} dst_cuda;

// dst_cuda_open opens the driver's library. If opening fails, it returns 0, and *why is a text that
// the caller frees. If a function is missing, it returns 0, and *missing is the function's name,
// which the caller must not free.
dst_cuda *dst_cuda_open(const char *path, char **why, const char **missing);

// Go cannot call a function pointer, so each function has a wrapper: cu_NAME(driver, ...).
#define DST_X(name, symbol, params, args) \
    static inline int cu_##name(const dst_cuda *driver, params) { return driver->name(args); }
DST_CUDA_CALLS(DST_X)
#undef DST_X

// dst_cuda_launch launches f on a one-dimensional grid of blocks. Parameter k is at slots + 2 * k.
static inline int dst_cuda_launch(const dst_cuda *d, dst_cu_handle f, unsigned grid,
    unsigned threads, unsigned shared, dst_cu_handle s, int n, uint64_t *slots) {
    void *params[n + 1];
    for (int k = 0; k < n; k++)
        params[k] = slots + 2 * k;
    params[n] = 0;
    return d->launch(f, grid, 1, 1, threads, 1, 1, shared, s, params, 0);
}

#endif
