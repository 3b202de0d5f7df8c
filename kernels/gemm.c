// Matrix products by OpenBLAS, BLIS or MKL. The library is one that is linked into the program, the
// one that DISTAFF_BLAS names, or the first that is found. It is loaded when the first product is
// computed. DISTAFF_BLAS may also be "gonum", for package blas, or "none".
//
// Each thread of a leaf computes a part of a product, so the library is set to one thread per call.
// The leaf alone then determines the number of threads, and other ranks of the process cannot
// change it.

#define _GNU_SOURCE
#include "gemm.h"
#include "_cgo_export.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
    float, float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *,
    int, double, double *, int);
typedef void zgemm_fn(int, int, int, int, int, int, const void *, const void *, int, const void *,
    int, const void *, void *, int);

static struct {
    sgemm_fn *s;
    dgemm_fn *d;
    zgemm_fn *c, *z;
    const char *path, *config;
    void *lib; // the library's handle
    int gonum;
    int bounded; // calls must first acquire places
    sem_t places;
    int state;         // DST_BLAS_...
    char why[512];
} blas;

static pthread_once_t once = PTHREAD_ONCE_INIT;

// use_one_thread sets a library to one thread per call, with the function that its kind has for it,
// and returns the kind. It returns 0 for a library without such a function: such a library is a
// plain BLAS, which is slower than a leaf's own loops.
static const char *use_one_thread(void *lib) {
    void (*open_blas)(int) = (void (*)(int))dlsym(lib, "openblas_set_num_threads");
    void (*blis)(int64_t) = (void (*)(int64_t))dlsym(lib, "bli_thread_set_num_threads");
    void (*mkl)(int) = (void (*)(int))dlsym(lib, "MKL_Set_Num_Threads");
    if (open_blas)
        return open_blas(1), "OpenBLAS";
    if (blis)
        return blis(1), "BLIS";
    if (mkl)
        return mkl(1), "MKL";
    return 0;
}

// Room in memory. OpenBLAS maps a buffer for each concurrent call, and one for each thread that it
// starts when it is loaded. If the system refuses a buffer, OpenBLAS retries forever. So if a
// memory limit is set, the code below checks that there is room for all buffers before the library
// is loaded, and makes OpenBLAS map them before its first call.
// spare buffers are for the library itself and for other maps
enum { MAX_CALLS = 1024, SPARE_BUFFERS = 2 };
static const int64_t BUFFER_BYTES = (int64_t)128 << 20;

// read_number reads the number after a word such as "CommitLimit:" in a file of /proc. If the word
// is "", it reads the nth number of the line, from 0. It returns -1 if there is none.
static int64_t read_number(const char *path, const char *word, int nth) {
    char line[256];
    int64_t found = -1;
    FILE *f = fopen(path, "re");
    while (f && found < 0 && fgets(line, sizeof line, f)) {
        char *at = line, *end;
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        at += strlen(word);
        for (int k = 0; k <= nth; k++, at = end) {
            const long long x = strtoll(at, &end, 10);
            found = end > at && k == nth ? x : -1;
            if (end == at)
                break;
        }
    }
    if (f)
        fclose(f);
    return found;
}

// bytes_left returns the number of bytes that can still be mapped, or INT64_MAX if no limit is set.
static int64_t bytes_left(void) {
    enum { SIZE = 0, DATA = 5 };
    const struct { int what, nth; } limits[] = {{RLIMIT_AS, SIZE}, {RLIMIT_DATA, DATA}};
    int64_t least = INT64_MAX;
    for (int k = 0; k < 2; k++) {
        struct rlimit l;
        if (getrlimit(limits[k].what, &l) != 0 || l.rlim_cur == RLIM_INFINITY ||
            l.rlim_cur > INT64_MAX)
            continue;
        const int64_t pages = read_number("/proc/self/statm", "", limits[k].nth);
        const int64_t used = pages * sysconf(_SC_PAGESIZE);
        least = (int64_t)l.rlim_cur - used < least ? (int64_t)l.rlim_cur - used : least;
    }
    // the system promises no more memory than it has
    if (read_number("/proc/sys/vm/overcommit_memory", "", 0) == 2) {
        const int64_t promised = read_number("/proc/meminfo", "CommitLimit:",
            0) - read_number("/proc/meminfo", "Committed_AS:", 0);
        least = promised < INT64_MAX / 1024 && promised * 1024 < least ? promised * 1024 : least;
    }
    return least;
}

// cpus returns the number of CPUs that this process may run on.
static int cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// concurrent_calls checks before a library is loaded that its buffers have room. It returns the
// largest number of concurrent calls, 0 for no limit, or -1 if there is no room.
static int concurrent_calls(void) {
    const int64_t left = bytes_left();
    const int calls = cpus(), buffers = 2 * calls + SPARE_BUFFERS;
    if (left == INT64_MAX)
        return 0;
    if (left / BUFFER_BYTES >= buffers)
        return calls;
    blas.state = DST_BLAS_NO_ROOM;
    snprintf(blas.why, sizeof blas.why,
        "there is no room for the buffers of a BLAS, %d of 128 MiB on %d CPUs: address space is "
        "limited (ulimit -v, ulimit -d, or vm.overcommit_memory)", buffers, calls);
    return -1;
}

// map_buffers makes OpenBLAS map the buffers of the given number of calls, and limits the number of
// concurrent calls.
static void map_buffers(void *lib, int calls) {
    void *(*take)(int) = (void *(*)(int))dlsym(lib, "blas_memory_alloc");
    void (*give)(void *) = (void (*)(void *))dlsym(lib, "blas_memory_free");
    void *at[MAX_CALLS];
    int n = 0;
    if (calls <= 0 || sem_init(&blas.places, 0, (unsigned)calls) != 0)
        return;
    blas.bounded = 1;
    if (!take || !give)
        return;
    while (n < calls && n < MAX_CALLS && (at[n] = take(0)))
        n++;
    while (n > 0)
        give(at[--n]);
}

// bind looks up the functions of an open library, and returns 0 if one is missing.
static int bind(void *lib, int calls) {
    sgemm_fn *s = (sgemm_fn *)dlsym(lib, "cblas_sgemm");
    dgemm_fn *d = (dgemm_fn *)dlsym(lib, "cblas_dgemm");
    zgemm_fn *c = (zgemm_fn *)dlsym(lib, "cblas_cgemm"), *z = (zgemm_fn *)dlsym(lib, "cblas_zgemm");
    char *(*config)(void) = (char *(*)(void))dlsym(lib, "openblas_get_config");
    Dl_info info;
    const char *kind = s && d && c && z ? use_one_thread(lib) : 0;
    if (!kind)
        return 0;
    blas.config = config ? config() : kind;
    blas.path = dladdr((void *)d, &info) && info.dli_fname ? strdup(info.dli_fname) : kind;
    blas.s = s, blas.d = d, blas.c = c, blas.z = z, blas.lib = lib;
    map_buffers(lib, calls);
    return 1;
}

// open_library opens a library and returns 1. If the library cannot be used, it stores the reason
// in blas.why and returns 0.
static int open_library(const char *name, int calls) {
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *said = dlerror();
        snprintf(blas.why, sizeof blas.why, "%s", said ? said : "dlopen failed");
        return 0;
    }
    if (bind(lib, calls))
        return 1;
    snprintf(blas.why, sizeof blas.why,
        "%s is no OpenBLAS, BLIS or MKL with the functions cblas_?gemm", name);
    dlclose(lib);
    return 0;
}

// libraries are tried from the last to the first. If none is found, the message names the first.
static const char *const libraries[] = {"libopenblas.so", "libmkl_rt.so.2", "libblis.so.4",
    "libblis-mt.so.4", "libopenblas.so.0"};

static void load(void) {
    const char *named = getenv("DISTAFF_BLAS");
    if (named && !strcmp(named, "none"))
        snprintf(blas.why, sizeof blas.why, "DISTAFF_BLAS is none");
    else if (named && !strcmp(named, "gonum"))
        blas.gonum = 1, blas.path = "gonum", blas.config = "in Go";
    else {
        const int calls = concurrent_calls();
        if (calls < 0)
            return;
        if (named && *named) {
            if (!open_library(named, calls))
                blas.state = DST_BLAS_BAD_NAME;
        } else if (!bind(RTLD_DEFAULT, calls))
            for (size_t k = sizeof libraries / sizeof *libraries; k-- > 0 &&
                !open_library(libraries[k], calls);)
                ;
    }
}

const char *dst_blas_found(const char **config, const char **why, int *state) {
    pthread_once(&once, load);
    *config = blas.config;
    *why = blas.why;
    *state = blas.state;
    return blas.path;
}

void *dst_blas_symbol(const char *name) {
    pthread_once(&once, load);
    return blas.path && !blas.gonum ? dlsym(blas.lib, name) : 0;
}

// operand sets how a row-major BLAS reads a matrix with the given sizes and strides: trans, and the
// leading dimension ld. It returns 0 if BLAS does not support the strides.
static int operand(int64_t rows, int64_t cols, int64_t row, int64_t col, int *trans, int *ld) {
    if (rows == 1 && row < cols) // a single row
        row = cols;
    if (col == 1 && row >= cols) {
        *trans = NO_TRANS, *ld = (int)row;
        return row <= INT32_MAX;
    }
    *trans = TRANS, *ld = (int)col;
    return row == 1 && col >= rows && col <= INT32_MAX;
}

// call computes g with the library. ta and tb are the transpositions, and la, lb and lc the leading
// dimensions. It returns 0 if the library lacks the type.
static int32_t call(const dst_gemm *g, int ta, int tb, int la, int lb, int lc) {
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const float one[2] = {1, 0};
    const double one2[2] = {1, 0};
    switch (g->type) {
    case 0:
        blas.s(ROW_MAJOR, ta, tb, m, n, k, *(const float *)g->alpha, g->a, la, g->b, lb, 1, g->c,
            lc);
        return 1;
    case 1:
        blas.d(ROW_MAJOR, ta, tb, m, n, k, *(const double *)g->alpha, g->a, la, g->b, lb, 1, g->c,
            lc);
        return 1;
    case 2:
        blas.c(ROW_MAJOR, ta, tb, m, n, k, g->alpha, g->a, la, g->b, lb, one, g->c, lc);
        return 1;
    case 3:
        blas.z(ROW_MAJOR, ta, tb, m, n, k, g->alpha, g->a, la, g->b, lb, one2, g->c, lc);
        return 1;
    }
    return 0;
}

int32_t dst_blas_gemm(dst_env *env, const dst_gemm *g) {
    (void)env;
    pthread_once(&once, load);
    int ta, tb, tc, la, lb, lc;
    if (!blas.path || g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX ||
        !operand(g->m, g->k, g->a_row, g->a_col, &ta, &la) ||
            !operand(g->k, g->n, g->b_row, g->b_col, &tb, &lb) ||
        !operand(g->m, g->n, g->c_row, g->c_col, &tc, &lc) || tc != NO_TRANS)
        return 0;
    if (blas.gonum) {
        dstGonumGemm((dst_gemm *)g, ta == TRANS, tb == TRANS, la, lb, lc);
        return 1;
    }
    while (blas.bounded && sem_wait(&blas.places) != 0 && errno == EINTR)
        ;
    const int done = call(g, ta, tb, la, lb, lc);
    if (blas.bounded)
        sem_post(&blas.places);
    return done;
}
