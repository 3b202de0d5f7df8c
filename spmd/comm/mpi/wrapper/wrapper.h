/* The functions that Distaff needs of an MPI library: the table that a wrapper exports as
 * dst_mpi_table(). No MPI type appears here, so that one binary works with any MPI. Requests and
 * links are integers. Functions return 0, or an MPI error code that error_string turns into
 * text. */
#ifndef DST_MPI_WRAPPER_H
#define DST_MPI_WRAPPER_H

#include <stdint.h>

#define DST_MPI_ABI 1

/* The thread levels, in MPI's order. */
enum { DST_MPI_SINGLE, DST_MPI_FUNNELED, DST_MPI_SERIALIZED, DST_MPI_MULTIPLE };

typedef struct {
    int32_t abi;
    /* Opens MPI and asks for DST_MPI_MULTIPLE. tag_limit is the largest tag. */
    int (*init)(int32_t *rank, int32_t *size, int32_t *provided, int32_t *tag_limit);
    /* Writes the library's own version text. */
    int (*library)(char *text, int32_t room);
    /* Makes a link, a duplicate of the world communicator. Every rank must call it. */
    int (*open_link)(int64_t *link);
    /* Start a message of any number of bytes. test frees the request when it is done. */
    int (*isend)(int64_t link, const void *p, int64_t bytes, int32_t to, int32_t tag,
        int64_t *request);
    int (*irecv)(int64_t link, void *p, int64_t bytes, int32_t from, int32_t tag, int64_t *request);
    /* Sets done if a request is done, and frees the request then. It makes no progress. error is
     * the request's error code; truncated means that the message was longer than the buffer. */
    int (*test)(int64_t request, int32_t *done, int64_t *bytes, int32_t *error, int32_t *truncated);
    /* Cancels a receive whose message has not arrived. The request is done soon afterwards. */
    int (*cancel)(int64_t request);
    /* Makes progress until one of the n requests is done or the time has passed, and returns how
     * many are done. If n and nanoseconds are 0, it makes progress once. */
    int32_t (*poll)(const int64_t *requests, int32_t n, int64_t nanoseconds);
    /* Sets found if a message with the tag has arrived on the link, with its sender and length. */
    int (*probe)(int64_t link, int32_t tag, int32_t *found, int32_t *from, int64_t *bytes);
    int (*finalize)(void);
    void (*abort)(int32_t code);
    int (*error_string)(int32_t code, char *text, int32_t room);
} dst_mpi_api;

#endif
