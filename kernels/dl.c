#define _GNU_SOURCE
#include "dl.h"
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

// openmp is where note_openmp puts the paths of OpenMP libraries that are loaded.
struct openmp {
    char *paths[4];
    unsigned n;
};

static int note_openmp(struct dl_phdr_info *info, size_t size, void *data) {
    static const char *const names[] = {"libgomp.so", "libomp.so", "libiomp5.so"};
    struct openmp *found = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(base, names[i], strlen(names[i])) &&
            found->n < sizeof found->paths / sizeof *found->paths)
            found->paths[found->n++] = strdup(info->dlpi_name);
    return 0;
}

// OpenMP's threads wait inside its library between parallel regions, so the library must stay
// loaded when the last leaf that needs it is unloaded. A path that is loaded is found without a
// search of the disk; the loader's lock is not held any more.
static void pin_openmp(void) {
    struct openmp found = {{0}, 0};
    dl_iterate_phdr(note_openmp, &found);
    while (found.n > 0) {
        char *path = found.paths[--found.n];
        if (path)
            dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        free(path);
    }
    dlerror();
}

void *dst_open(const char *path, char **why) {
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        const char *said = dlerror();
        *why = strdup(said ? said : "dlopen failed");
        return 0;
    }
    pin_openmp();
    return h;
}

int dst_close(void *handle, const char *path) {
    dlclose(handle);
    void *still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    dlerror();
    if (!still)
        return 1;
    dlclose(still);
    return 0;
}

void *dst_symbol(void *handle, const char *name) {
    void *p = dlsym(handle, name);
    dlerror();
    return p;
}

struct run {
    int (*leaf)(dst_tensor **, const int64_t (*)[2], dst_env *);
    dst_tensor **t;
    const int64_t (*bounds)[2];
    dst_env *env;
};

static int run(void *arg) {
    struct run *r = arg;
    return r->leaf(r->t, r->bounds, r->env);
}

int dst_run(void *leaf, dst_tensor **t, const int64_t (*bounds)[2], const char *values, dst_call *c,
    dst_arena *a, int32_t threads, dst_progress *progress) {
    dst_call_init(c, a, threads);
    c->env.values = values;
    c->env.has_progress = progress != 0;
    c->env.progress = progress;
    struct run r = {(int (*)(dst_tensor **, const int64_t (*)[2], dst_env *))leaf, t, bounds,
        &c->env};
    int rc;
    return dst_guarded(run, &r, &rc, &c->fault) ? rc : DST_STOPPED;
}
