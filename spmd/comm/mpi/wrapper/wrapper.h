/* What Distaff asks of an MPI: the one table that a wrapper exports as
 * dst_mpi_table(). No MPI type appears here, so that one binary works with any
 * MPI. Requests and links are integers. Functions return 0, or an MPI error
 * code that error_string puts in words. */
#ifndef DST_MPI_WRAPPER_H
#define DST_MPI_WRAPPER_H

#include <stdint.h>

#define DST_MPI_ABI 1

/* Thread levels, as MPI orders them. */
enum { DST_MPI_SINGLE, DST_MPI_FUNNELED, DST_MPI_SERIALIZED, DST_MPI_MULTIPLE };

typedef struct {
    int32_t abi;
    /* Opens MPI, asking for DST_MPI_MULTIPLE. tag_limit: the largest tag. */
    int (*init)(int32_t *rank, int32_t *size, int32_t *provided, int32_t *tag_limit);
    /* The library's own version text. */
    int (*library)(char *text, int32_t room);
    /* A link: a duplicate of the world. Collective. */
    int (*open_link)(int64_t *link);
    /* Messages of bytes, of any length. The request ends with test. */
    int (*isend)(int64_t link, const void *p, int64_t bytes, int32_t to, int32_t tag, int64_t *request);
    int (*irecv)(int64_t link, void *p, int64_t bytes, int32_t from, int32_t tag, int64_t *request);
    /* Whether a request is done, without making progress; a done one is freed.
     * error: its own error code; truncated: whether that means a message longer than its room. */
    int (*test)(int64_t request, int32_t *done, int64_t *bytes, int32_t *error, int32_t *truncated);
    /* Gives a receive up, if its message has not come; it is done soon after. */
    int (*cancel)(int64_t request);
    /* Makes progress until one of the requests is done, at most for so long. Returns how
     * many are; n = 0 makes progress once. */
    int32_t (*poll)(const int64_t *requests, int32_t n, int64_t nanoseconds);
    /* Whether a message with the tag waits on the link, from whom, and its length. */
    int (*probe)(int64_t link, int32_t tag, int32_t *found, int32_t *from, int64_t *bytes);
    int (*finalize)(void);
    void (*abort)(int32_t code);
    int (*error_string)(int32_t code, char *text, int32_t room);
} dst_mpi_api;

#endif
