/* The wrapper: built by a site's mpicc, opened by Distaff at run time. One mutex serializes all
 * calls of MPI. No call blocks except opening and closing, so that MPI_THREAD_SERIALIZED is enough
 * for any number of threads. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STR2(x) #x
#define STR(x) STR2(x)

/* Read from the bytes of the file before it is loaded. */
#if defined(OPEN_MPI)
#define FAMILY "openmpi " STR(OMPI_MAJOR_VERSION) "." STR(OMPI_MINOR_VERSION) \
    "." STR(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION)
#define FAMILY "mpich " MPICH_VERSION
#elif defined(I_MPI_VERSION)
#define FAMILY "mpich " I_MPI_VERSION
#else
#define FAMILY "other " STR(MPI_VERSION) "." STR(MPI_SUBVERSION)
#endif
__attribute__((used)) const char dst_mpi_built_for[] =
    "@dst-mpi-wrapper " STR(DST_MPI_ABI) " " FAMILY "@";

typedef struct {
    int32_t done, error, is_recv;
    int64_t bytes;
    int32_t next_free;
} slot;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static slot *slots;
static int32_t slots_room, first_free = -1;
/* The requests under way: parallel arrays, as MPI_Testsome needs them. */
static MPI_Request *active;
static int32_t *active_slot;
static int *indices;
static MPI_Status *statuses;
static int32_t n_active;
enum { MAX_LINKS = 8 };
static MPI_Comm links[MAX_LINKS];
static int n_links;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static int grow(void) {
    int32_t room = slots_room ? 2 * slots_room : 256;
    slot *s = realloc(slots, room * sizeof *s);
    if (s) slots = s;
    MPI_Request *a = realloc(active, room * sizeof *a);
    if (a) active = a;
    int32_t *k = realloc(active_slot, room * sizeof *k);
    if (k) active_slot = k;
    int *i = realloc(indices, room * sizeof *i);
    if (i) indices = i;
    MPI_Status *st = realloc(statuses, room * sizeof *st);
    if (st) statuses = st;
    if (!s || !a || !k || !i || !st) return MPI_ERR_NO_MEM;
    for (int32_t j = room - 1; j >= slots_room; j--) {
        slots[j].next_free = first_free;
        first_free = j;
    }
    slots_room = room;
    return MPI_SUCCESS;
}

static void complete(slot *s, int error, MPI_Status *st) {
    s->error = error;
    if (!error && s->is_recv) {
        MPI_Count n = 0;
        int cancelled = 0;
        MPI_Test_cancelled(st, &cancelled);
        if (cancelled) {
            s->bytes = 0;
            __atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
            return;
        }
        s->error = MPI_Get_elements_x(st, MPI_BYTE, &n);
        s->bytes = n;
    }
    __atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
}

/* Marks the requests that are done. The caller must hold the mutex. */
static void progress(void) {
    if (n_active == 0) return;
    int n = 0;
    int e = MPI_Testsome(n_active, active, &n, indices, statuses);
    if (e != MPI_SUCCESS && e != MPI_ERR_IN_STATUS) {
        /* MPI does not say which requests failed, so all of them do. */
        for (int32_t i = 0; i < n_active; i++) complete(&slots[active_slot[i]], e, 0);
        n_active = 0;
        return;
    }
    if (n == MPI_UNDEFINED || n == 0) return;
    for (int i = 0; i < n; i++)
        complete(&slots[active_slot[indices[i]]],
            e == MPI_SUCCESS ? MPI_SUCCESS : statuses[i].MPI_ERROR, &statuses[i]);
    int32_t kept = 0;
    for (int32_t i = 0; i < n_active; i++)
        if (active[i] != MPI_REQUEST_NULL) {
            active[kept] = active[i];
            active_slot[kept++] = active_slot[i];
        }
    n_active = kept;
}

/* Makes a type for a message of more than 2^31 bytes as one element, because counts are ints. */
static int long_type(int64_t bytes, MPI_Datatype *t) {
    const int64_t block = 1 << 20;
    MPI_Datatype blocks;
    int e = MPI_Type_contiguous((int)block, MPI_BYTE, &blocks);
    if (e) return e;
    int counts[2] = {(int)(bytes / block), (int)(bytes % block)};
    MPI_Aint at[2] = {0, (MPI_Aint)(bytes / block * block)};
    MPI_Datatype types[2] = {blocks, MPI_BYTE};
    e = MPI_Type_create_struct(2, counts, at, types, t);
    MPI_Type_free(&blocks);
    return e ? e : MPI_Type_commit(t);
}

static int start(int recv, int64_t link, void *p, int64_t bytes, int32_t peer, int32_t tag,
        int64_t *request) {
    lock();
    int e = MPI_SUCCESS;
    if (first_free < 0) e = grow();
    MPI_Datatype type = MPI_BYTE;
    int count = (int)bytes;
    if (!e && bytes > INT_MAX) {
        e = long_type(bytes, &type);
        count = 1;
    }
    if (!e) {
        MPI_Comm c = links[link];
        MPI_Request r;
        e = recv ? MPI_Irecv(p, count, type, peer, tag, c, &r) : MPI_Isend(p, count, type, peer,
            tag, c, &r);
        if (type != MPI_BYTE) MPI_Type_free(&type);
        if (!e) {
            int32_t k = first_free;
            slot *s = &slots[k];
            first_free = s->next_free;
            s->done = s->error = 0;
            s->is_recv = recv;
            s->bytes = bytes;
            int flag = 0;
            if (!recv && bytes <= 65536) { /* most short sends are done immediately */
                MPI_Status st;
                int te = MPI_Test(&r, &flag, &st);
                if (te) flag = 1;
                if (flag) complete(s, te, &st);
            }
            if (!flag) {
                active[n_active] = r;
                active_slot[n_active++] = k;
            }
            *request = k;
        }
    }
    unlock();
    return e;
}

static int dst_isend(int64_t link, const void *p, int64_t n, int32_t to, int32_t tag, int64_t *r) {
    return start(0, link, (void *)p, n, to, tag, r);
}

static int dst_irecv(int64_t link, void *p, int64_t n, int32_t from, int32_t tag, int64_t *r) {
    return start(1, link, p, n, from, tag, r);
}

static int dst_test(int64_t r, int32_t *done, int64_t *bytes, int32_t *error, int32_t *truncated) {
    lock(); /* another thread may move the table */
    slot *s = &slots[r];
    *done = s->done;
    if (s->done) {
        *bytes = s->bytes;
        *error = s->error;
        *truncated = 0;
        if (s->error) {
            int class = 0;
            MPI_Error_class(s->error, &class);
            *truncated = class == MPI_ERR_TRUNCATE;
        }
        s->next_free = first_free;
        first_free = (int32_t)r;
    }
    unlock();
    return 0;
}

static int dst_cancel(int64_t r) {
    int e = MPI_SUCCESS;
    lock();
    for (int32_t i = 0; i < n_active; i++)
        if (active_slot[i] == r && slots[r].is_recv) e = MPI_Cancel(&active[i]);
    unlock();
    return e;
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Makes progress until there has been none for idle nanoseconds, for 2 ms at most. A call that
 * moves parts of a large message is recognized because it takes longer than 1.5 us. */
static void dst_push(int64_t idle) {
    const int64_t begin = now();
    for (int64_t before = begin, last = begin; before - last <= idle && before - begin < 2000000;) {
        lock();
        progress();
        unlock();
        const int64_t after = now();
        if (after - before > 1500) last = after;
        before = after;
    }
}

static int32_t dst_poll(const int64_t *requests, int32_t n, int64_t nanoseconds) {
    if (n == 0 && nanoseconds > 0) {
        dst_push(nanoseconds);
        return 0;
    }
    int64_t end = nanoseconds > 0 ? now() + nanoseconds : 0;
    for (;;) {
        int32_t done = 0;
        lock();
        progress();
        for (int32_t i = 0; i < n; i++) done += slots[requests[i]].done;
        unlock();
        if (done || n == 0 || nanoseconds <= 0 || now() >= end) return done;
    }
}

static int dst_probe(int64_t link, int32_t tag, int32_t *found, int32_t *from, int64_t *bytes) {
    MPI_Status st;
    int flag = 0;
    lock();
    int e = MPI_Iprobe(MPI_ANY_SOURCE, tag, links[link], &flag, &st);
    *found = flag;
    if (!e && flag) {
        MPI_Count n = 0;
        e = MPI_Get_elements_x(&st, MPI_BYTE, &n);
        *from = st.MPI_SOURCE;
        *bytes = n;
    }
    unlock();
    return e;
}

static int dst_open_link(int64_t *link) {
    lock();
    int e = MPI_ERR_OTHER;
    if (n_links < MAX_LINKS) {
        e = MPI_Comm_dup(MPI_COMM_WORLD, &links[n_links]);
        if (!e) e = MPI_Comm_set_errhandler(links[n_links], MPI_ERRORS_RETURN);
        if (!e) *link = n_links++;
    }
    unlock();
    return e;
}

static int dst_init(int32_t *rank, int32_t *size, int32_t *provided, int32_t *tag_limit) {
    int level, r, n, e;
    e = MPI_Init_thread(0, 0, MPI_THREAD_MULTIPLE, &level);
    if (e) return e;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((e = MPI_Comm_rank(MPI_COMM_WORLD, &r)) || (e = MPI_Comm_size(MPI_COMM_WORLD,
        &n))) return e;
    *rank = r;
    *size = n;
    *provided = level == MPI_THREAD_MULTIPLE ? DST_MPI_MULTIPLE
              : level == MPI_THREAD_SERIALIZED ? DST_MPI_SERIALIZED
              : level == MPI_THREAD_FUNNELED ? DST_MPI_FUNNELED : DST_MPI_SINGLE;
    int *limit = 0, found = 0;
    e = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
    *tag_limit = found && limit ? *limit : 32767;
    return e;
}

static int dst_library(char *text, int32_t room) {
    char all[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0, e = MPI_Get_library_version(all, &n);
    strncpy(text, all, room - 1);
    text[room - 1] = 0;
    return e;
}

static int dst_finalize(void) {
    lock();
    int e = MPI_Finalize();
    unlock();
    return e;
}

/* Does not take the mutex, because its holder may never release it. */
static void dst_abort(int32_t code) { MPI_Abort(MPI_COMM_WORLD, code); }

static int dst_error_string(int32_t code, char *text, int32_t room) {
    char all[MPI_MAX_ERROR_STRING + 1] = "";
    int n = 0, e = MPI_Error_string(code, all, &n);
    strncpy(text, all, room - 1);
    text[room - 1] = 0;
    return e;
}

__attribute__((visibility("default"))) const dst_mpi_api *dst_mpi_table(void) {
    static const dst_mpi_api table = {
        DST_MPI_ABI, dst_init, dst_library, dst_open_link, dst_isend, dst_irecv, dst_test,
        dst_cancel, dst_poll, dst_probe, dst_finalize, dst_abort, dst_error_string,
    };
    return &table;
}
