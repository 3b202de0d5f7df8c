// A stand-in for the NVIDIA driver, for tests. Device memory is host memory, and kernels are
// functions of a shared object that a C++ compiler made. Work in a stream runs as late as possible,
// when the host waits for it. So a host that forgets to wait sees old data. The environment can
// make functions fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct event event;

typedef struct op {
    enum { COPY, SET, MARK, WAIT } kind;
    void *to;
    const void *from;
    size_t n;
    unsigned char byte;
    event *e;
    uint64_t number; // of the event's record
    struct op *next;
} op;

typedef struct {
    op *first, **last;
} stream;

struct event {
    uint64_t recorded, reached;
    stream *on;
};

// The environment describes the devices and the failures: "cuMemAlloc_v2 2 3" makes the fourth and
// all later calls of the function return 2.
static size_t used;
static int sticky;

static size_t number(const char *name, size_t without) {
    const char *s = getenv(name);
    return s && *s ? strtoull(s, 0, 10) : without;
}

static size_t memory(void) { return number("FAKE_MEMORY", (size_t)1 << 30); }

static int verdict(const char *call) {
    static char last[128];
    static int calls;
    const char *fail = getenv("FAKE_FAIL");
    if (sticky)
        return sticky;
    if (!fail || !*fail)
        return 0;
    if (strcmp(fail, last)) {
        snprintf(last, sizeof last, "%s", fail);
        calls = 0;
    }
    char name[64];
    int code = 0, after = 0;
    sscanf(fail, "%63s %d %d", name, &code, &after);
    if (strcmp(name, call) || calls++ < after)
        return 0;
    if (code == 700)
        sticky = 700;
    return code;
}

// FAKE_LOG names a file that lists the work given to streams, in order.
static void note(const char *call, const void *s, const char *what) {
    const char *name = getenv("FAKE_LOG");
    FILE *f = name && *name ? fopen(name, "a") : 0;
    if (!f)
        return;
    fprintf(f, "%s %p %s\n", call, s, what);
    fclose(f);
}

// The context of the thread. Only some calls work without one.
static __thread void *current;

static int lacks_context(const char *call) {
    static const char *const free[] = {"cuInit", "cuDriver", "cuDevice", "cuCtx"};
    for (int k = 0; k < 4; k++)
        if (!strncmp(call, free[k], strlen(free[k])))
            return 0;
    return current ? 0 : 201;
}

#define CHECK                                                 \
    do {                                                      \
        int rc = verdict(__func__);                           \
        if (rc || (rc = lacks_context(__func__)))             \
            return rc;                                        \
    } while (0)

static void run_until(stream *s, event *e, uint64_t number);

static void step(stream *s) {
    op *o = s->first;
    if (o->kind == WAIT && o->e->reached < o->number && o->e->on != s)
        run_until(o->e->on, o->e, o->number);
    s->first = o->next;
    if (!s->first)
        s->last = &s->first;
    if (o->kind == COPY)
        memmove(o->to, o->from, o->n);
    if (o->kind == SET)
        memset(o->to, o->byte, o->n);
    if (o->kind == MARK)
        o->e->reached = o->number;
    free(o);
}

static void run_until(stream *s, event *e, uint64_t number) {
    while (s->first && (!e || e->reached < number))
        step(s);
}

static op *push(stream *s, int kind) {
    op *o = calloc(1, sizeof *o);
    o->kind = kind;
    *s->last = o;
    s->last = &o->next;
    return o;
}

// Device memory has addresses of its own, so using one on the host fails.
#define DEVICE ((uint64_t)0x1000 << 48)

static void *host(uint64_t p) {
    if (p < DEVICE)
        abort();
    return (void *)(p - DEVICE);
}

int cuInit(unsigned flags) { CHECK; return 0; }
int cuDriverGetVersion(int *v) { CHECK; *v = 12040; return 0; }
int cuDeviceGetCount(int *n) { CHECK; *n = number("FAKE_DEVICES", 2); return 0; }
int cuDeviceGet(int *d, int k) { CHECK; if (k >= (int)number("FAKE_DEVICES",
    2)) return 101; *d = k; return 0; }
int cuDeviceGetName(char *name, int len, int d) { CHECK; snprintf(name, len, "Stand-in %d",
    d); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { CHECK; *n = memory(); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { CHECK; *v = a == 75 ? 9 : 0; return 0; }

int cuDevicePrimaryCtxRetain(void **c, int d) { CHECK; *c = &used; return 0; }
int cuCtxSetCurrent(void *c) { CHECK; current = c; return 0; }
int cuCtxGetCurrent(void **c) { CHECK; *c = current; return 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { CHECK; *f = memory() - used; *t = memory(); return 0; }

int cuMemAlloc_v2(uint64_t *p, size_t n) {
    CHECK;
    if (n > memory() - used)
        return 2;
    size_t *m = aligned_alloc(256, (n + 256 + 255) / 256 * 256);
    m[0] = n;
    memset((char *)m + 256, 0xff, n);
    used += n;
    *p = (uint64_t)m + 256 + DEVICE;
    return 0;
}

int cuMemFree_v2(uint64_t p) {
    CHECK;
    size_t *m = (size_t *)((char *)host(p) - 256);
    used -= m[0];
    // The memory is not freed, so a kernel that still uses it sees this.
    memset((char *)m + 256, 0xee, m[0]);
    return 0;
}

// Pinned host memory.
static struct {
    char *at;
    size_t n;
} pinned[64];
static int pins;

static const char *kind(const void *p, size_t n) {
    for (int k = 0; k < pins; k++)
        if ((const char *)p >= pinned[k].at && (const char *)p + n <= pinned[k].at + pinned[k].n)
            return "pinned";
    return "pageable";
}

int cuMemHostAlloc(void **p, size_t n, unsigned flags) {
    CHECK;
    *p = malloc(n);
    if (pins < 64) {
        pinned[pins].at = *p;
        pinned[pins++].n = n;
    }
    return 0;
}

int cuMemFreeHost(void *p) { CHECK; free(p); return 0; }

static int copied(void *to, const void *from, size_t n, stream *s) {
    op *o = push(s, COPY);
    o->to = to;
    o->from = from;
    o->n = n;
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n,
    stream *s) { CHECK; note("up", s, kind(from, n)); return copied(host(to), from, n, s); }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n,
    stream *s) { CHECK; note("down", s, kind(to, n)); return copied(to, host(from), n, s); }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n,
    stream *s) { CHECK; return copied(host(to), host(from), n, s); }

int cuMemsetD8Async(uint64_t p, unsigned char b, size_t n, stream *s) {
    CHECK;
    op *o = push(s, SET);
    o->to = host(p);
    o->byte = b;
    o->n = n;
    return 0;
}

// The image is a shared object. Other bytes may follow its end.
int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
    CHECK;
    const uint64_t *header = image; // the table of sections ends the file
    size_t size = header[5] + (size_t)((const uint16_t *)image)[29] * ((const uint16_t *)image)[30];
    int fd = memfd_create("kernels", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, image, size) != (ssize_t)size || !(*m = dlopen(path, RTLD_NOW | RTLD_LOCAL))) {
        fprintf(stderr, "stand-in: %s\n", dlerror());
        return 200;
    }
    return 0; // the descriptor stays: its name is that of the object
}

int cuModuleUnload(void *m) { CHECK; dlclose(m); return 0; }


int cuModuleGetFunction(void **f, void *m, const char *name) {
    CHECK;
    char own[256];
    snprintf(own, sizeof own, "%s_emulated", name);
    *f = dlsym(m, own);
    return *f ? 0 : 500;
}

int cuFuncSetAttribute(void *f, int a, int v) { CHECK; return v > 200000 ? 1 : 0; }

// Kernels need host addresses. Parameters with the device's address bits are converted.
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, stream *s, void **params, void **extra) {
    CHECK;
    note("launch", s, "-");
    run_until(s, 0, 0);
    uint64_t own[64];
    void *list[64];
    int n = 0;
    for (; params[n]; n++) {
        memcpy(&own[n], params[n], 8);
        if (own[n] >> 48 == 0x1000)
            own[n] -= DEVICE;
        list[n] = own[n] == *(uint64_t *)params[n] ? params[n] : &own[n];
    }
    return ((int (*)(long long, void **))f)(gx, list) ? 719 : 0;
}

int cuStreamCreate(stream **s, unsigned flags) {
    CHECK;
    *s = calloc(1, sizeof **s);
    (*s)->last = &(*s)->first;
    return 0;
}

int cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
    CHECK;
    note("wait", s, "-");
    op *o = push(s, WAIT);
    o->e = e;
    o->number = e->recorded;
    return 0;
}

int cuStreamSynchronize(stream *s) { CHECK; note("sync", s, "-"); run_until(s, 0, 0); return 0; }
int cuEventCreate(event **e, unsigned flags) { CHECK; *e = calloc(1, sizeof **e); return 0; }

int cuEventRecord(event *e, stream *s) {
    CHECK;
    op *o = push(s, MARK);
    o->e = e;
    o->number = ++e->recorded;
    e->on = s;
    return 0;
}

int cuEventSynchronize(event *e) {
    CHECK;
    note("sync", e->on, "-");
    if (e->on)
        run_until(e->on, e, e->recorded);
    return 0;
}

int cuEventElapsedTime(float *ms, event *from, event *to) { CHECK; *ms = 0.25f; return 0; }

int cuGetErrorName(int code, const char **text) {
    static char name[32];
    snprintf(name, sizeof name, "CUDA_ERROR_%d", code);
    *text = name;
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == 700 ? "an illegal memory access was encountered"
        : code == 2 ? "out of memory" : "some error";
    return 0;
}
