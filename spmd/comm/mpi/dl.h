/* Opens a wrapper and calls through its table. See dl.c. */
#ifndef DST_MPI_DL_H
#define DST_MPI_DL_H

#include "wrapper/wrapper.h"

/* Opens the shared object and returns its table. After an error it returns 0 and sets *why to
 * the reason, which the caller frees. */
const dst_mpi_api *dst_mpi_dlopen(const char *path, char **why);
/* Called before and after MPI is loaded and opened. They restore Go's handlers for faults and
 * interrupts, which MPI may have changed, and make every handler run on the alternate signal
 * stack. Go would crash at a signal whose handler does not. */
void dst_mpi_keep_handlers(void);
void dst_mpi_restore_handlers(void);

int dst_mpi_call_init(const dst_mpi_api *a, int32_t *rank, int32_t *size, int32_t *provided,
        int32_t *tag_limit);
int dst_mpi_call_library(const dst_mpi_api *a, char *text, int32_t room);
int dst_mpi_call_open_link(const dst_mpi_api *a, int64_t *link);
int dst_mpi_call_isend(const dst_mpi_api *a, int64_t link, const void *p, int64_t n, int32_t to,
        int32_t tag, int64_t *r);
int dst_mpi_call_irecv(const dst_mpi_api *a, int64_t link, void *p, int64_t n, int32_t from,
        int32_t tag, int64_t *r);
int dst_mpi_call_test(const dst_mpi_api *a, int64_t r, int32_t *done, int64_t *bytes,
        int32_t *error, int32_t *truncated);
int dst_mpi_call_cancel(const dst_mpi_api *a, int64_t r);
int32_t dst_mpi_call_poll(const dst_mpi_api *a, const int64_t *r, int32_t n, int64_t ns);
int dst_mpi_call_probe(const dst_mpi_api *a, int64_t link, int32_t tag, int32_t *found,
        int32_t *from, int64_t *bytes);
int dst_mpi_call_finalize(const dst_mpi_api *a);
void dst_mpi_call_abort(const dst_mpi_api *a, int32_t code);
int dst_mpi_call_error_string(const dst_mpi_api *a, int32_t code, char *text, int32_t room);

#endif
