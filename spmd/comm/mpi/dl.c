#include "dl.h"
#include <dlfcn.h>
#include <signal.h>
#include <string.h>

const dst_mpi_api *dst_mpi_dlopen(const char *path, char **why) {
    /* RTLD_GLOBAL, because the plug-ins of an MPI library look for its symbols. */
    void *h = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const dst_mpi_api *(*table)(void) = h ? (const dst_mpi_api *(*)(void))dlsym(h,
        "dst_mpi_table") : 0;
    if (!table) {
        const char *said = dlerror();
        *why = strdup(said ? said : "no dst_mpi_table");
        return 0;
    }
    return table();
}

/* Go turns faults into panics, and runs its scheduler and timers, with these signals. */
static const int gos[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM,
                          SIGHUP, SIGQUIT, SIGURG, SIGPIPE, SIGPROF, SIGTRAP};
static struct sigaction before[sizeof gos / sizeof *gos];

void dst_mpi_keep_handlers(void) {
    for (unsigned i = 0; i < sizeof gos / sizeof *gos; i++) sigaction(gos[i], 0, &before[i]);
}

void dst_mpi_restore_handlers(void) {
    for (unsigned i = 0; i < sizeof gos / sizeof *gos; i++) sigaction(gos[i], &before[i], 0);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction a;
        if (sigaction(s, 0, &a) || (a.sa_flags & SA_ONSTACK)) continue;
        if (!(a.sa_flags & SA_SIGINFO) && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN))
            continue;
        a.sa_flags |= SA_ONSTACK;
        sigaction(s, &a, 0);
    }
}

int dst_mpi_call_init(const dst_mpi_api *a, int32_t *rank, int32_t *size, int32_t *provided,
        int32_t *tag_limit) {
    return a->init(rank, size, provided, tag_limit);
}
int dst_mpi_call_library(const dst_mpi_api *a, char *text, int32_t room) { return a->library(text,
        room); }
int dst_mpi_call_open_link(const dst_mpi_api *a, int64_t *link) {
    return a->open_link(link);
}
int dst_mpi_call_isend(const dst_mpi_api *a, int64_t link, const void *p, int64_t n, int32_t to,
        int32_t tag, int64_t *r) {
    return a->isend(link, p, n, to, tag, r);
}
int dst_mpi_call_irecv(const dst_mpi_api *a, int64_t link, void *p, int64_t n, int32_t from,
        int32_t tag, int64_t *r) {
    return a->irecv(link, p, n, from, tag, r);
}
int dst_mpi_call_test(const dst_mpi_api *a, int64_t r, int32_t *done, int64_t *bytes,
        int32_t *error, int32_t *truncated) {
    return a->test(r, done, bytes, error, truncated);
}
int dst_mpi_call_cancel(const dst_mpi_api *a, int64_t r) { return a->cancel(r); }
int32_t dst_mpi_call_poll(const dst_mpi_api *a, const int64_t *r, int32_t n,
        int64_t ns) { return a->poll(r, n, ns); }
int dst_mpi_call_probe(const dst_mpi_api *a, int64_t link, int32_t tag, int32_t *found,
        int32_t *from, int64_t *bytes) {
    return a->probe(link, tag, found, from, bytes);
}
int dst_mpi_call_finalize(const dst_mpi_api *a) { return a->finalize(); }
void dst_mpi_call_abort(const dst_mpi_api *a, int32_t code) { a->abort(code); }
int dst_mpi_call_error_string(const dst_mpi_api *a, int32_t code, char *text, int32_t room) {
    return a->error_string(code, text, room);
}
