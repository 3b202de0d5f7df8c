// Usage: main LEAF THREADS FAIL
//
// Runs one leaf of leaves.c on the arguments from stdin, and writes the arguments as the leaf left
// them to stdout. FAIL is the number of the allocation that fails, or another value that program.go
// describes.
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaves.h"

static int64_t live, count, fail_at;

// The blocks that the leaf has published, which the caller owns.
static void *published[512];
static int npublished;

static void die(const char *what) {
    fprintf(stderr, "main: %s\n", what);
    exit(3);
}

// The 64 bytes before a block hold the block's size.
static void *env_alloc(dst_env *env, int64_t bytes, int32_t zero) {
    (void)env;
    void *result = 0;
#pragma omp critical(main_memory)
    if (++count != fail_at && bytes < ((int64_t)1 << 40)) {
        void *block;
        if (posix_memalign(&block, 64, (size_t)bytes + 64))
            die("no memory");
        int64_t *p = block;
        p[0] = bytes;
        memset(p + 8, zero ? 0 : 0x5a, (size_t)bytes);
        live++;
        result = p + 8;
    }
    return result;
}

static void env_release(dst_env *env, void *ptr, int64_t bytes) {
    (void)env;
    int64_t *p = (int64_t *)ptr - 8;
    if (p[0] != bytes)
        die("released with another size");
#pragma omp critical(main_memory)
    live--;
    free(p);
}

static void *env_grow(dst_env *env, void *ptr, int64_t old_bytes, int64_t new_bytes) {
    void *to = env_alloc(env, new_bytes, 0);
    if (!to)
        return 0;
    memcpy(to, ptr, (size_t)old_bytes);
    env_release(env, ptr, old_bytes);
    return to;
}

static void get(void *p, size_t n) {
    if (n && fread(p, n, 1, stdin) != 1)
        die("short input");
}

static int64_t number(void) {
    int64_t n;
    get(&n, 8);
    return n;
}

static int64_t sizes[512]; // of the elements of arrays, in order
static int nsizes;
static void *given[512]; // those arrays
static int ngiven;

static dst_array array(void) {
    const int64_t size = number(), n = number();
    dst_array a = {0, n, 0};
    if (posix_memalign(&a.ptr, 64, (size_t)(size * n)))
        die("no memory");
    a.first = number();
    get(a.ptr, (size_t)(size * n));
    if (nsizes == 512)
        die("too many arrays");
    given[nsizes] = a.ptr;
    sizes[nsizes++] = size;
    return a;
}

static void put(const void *p, size_t n) {
    if (n && fwrite(p, n, 1, stdout) != 1)
        die("cannot write");
}

// Two arguments may share an array: results with equal patterns do.
static void put_array(dst_array a) {
    const int64_t size = sizes[nsizes++];
    put(&a.len, 8);
    put(a.ptr, (size_t)(size * a.len));
    for (int k = 0; k < ngiven; k++)
        if (given[k] == a.ptr)
            return;
    for (int k = 0; k < npublished; k++)
        if (published[k] == a.ptr)
            return;
    if (a.ptr) {
        published[npublished++] = a.ptr;
        live--;
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        die("usage: main LEAF THREADS FAIL");
    int (*leaf)(dst_tensor **, const int64_t (*)[2], dst_env *) = 0;
    for (size_t k = 0; k < sizeof leaves / sizeof *leaves; k++)
        if (!strcmp(leaves[k].name, argv[1]))
            leaf = leaves[k].leaf;
    if (!leaf)
        die("no such leaf");
    dst_env env = {0};
    env.threads = atoi(argv[2]);
    fail_at = atoi(argv[3]);
    dst_progress progress = {0};
    if (fail_at == -3) {
        env.has_progress = 1;
        env.progress = &progress;
    }
    if (fail_at >= 0) {
        env.alloc = env_alloc;
        env.grow = env_grow;
        env.release = env_release;
    }
    dst_tensor tensors[16], *t[16];
    dst_level levels[16][8];
    const int64_t nargs = number();
    if (nargs > 16)
        die("too many arguments");
    for (int64_t k = 0; k < nargs; k++) {
        t[k] = &tensors[k];
        const int64_t n = number();
        if (n > 8)
            die("too many levels");
        for (int64_t l = 0; l < n; l++) {
            levels[k][l].size = number();
            levels[k][l].offset = number();
            levels[k][l].pos = array();
            levels[k][l].crd = array();
        }
        tensors[k] = (dst_tensor){0, (int32_t)n, levels[k], array()};
    }
    int64_t bounds[32][2];
    const int64_t nbounds = number();
    if (nbounds > 32)
        die("too many bounds");
    for (int64_t k = 0; k < nbounds; k++) {
        bounds[k][0] = number();
        bounds[k][1] = number();
    }
    const int64_t rc = leaf(t, (const int64_t(*)[2])bounds, fail_at == -2 ? 0 : &env);
    if (fail_at == -3) {
        if (rc == 0 && (progress.done != progress.total || (progress.loop == 0) != (progress.total == 0)))
            die("its last loop is not done");
        count = progress.loop;
    }
    put(&rc, 8);
    const int64_t ncoord = rc ? env.fail_ncoord : 0;
    put(&ncoord, 8);
    put(env.fail_coord, (size_t)(8 * ncoord));
    put(&count, 8);
    ngiven = nsizes;
    nsizes = 0;
    for (int64_t k = 0; k < nargs; k++) {
        for (int64_t l = 0; l < tensors[k].nlevels; l++) {
            put_array(levels[k][l].pos);
            put_array(levels[k][l].crd);
        }
        put_array(tensors[k].vals);
    }
    if (fail_at >= 0 && live != 0)
        die("leak");
    return 0;
}
