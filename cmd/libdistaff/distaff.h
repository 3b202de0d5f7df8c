/* Distaff as a C library: statements of tensor index notation over the caller's memory.
 *
 * Any thread may call any function. A statement may run on several threads at a time, each with
 * operands and a result of its own. Functions that return a pointer return NULL on an error, and
 * functions that return int32_t return DISTAFF_OK or an error code; both then fill the
 * distaff_error, which may be NULL.
 *
 * The library must not be used in a child process that fork made without exec. */
#ifndef DISTAFF_H
#define DISTAFF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a structure or a function changes in a way that programs notice. */
#define DISTAFF_API 1

enum {
    DISTAFF_OK = 0,
    DISTAFF_ERROR = 1,     /* a failure that is none of the others */
    DISTAFF_STATEMENT = 2, /* the statement, a format, a type or a size is wrong */
    DISTAFF_DATA = 3,      /* an operand is wrong */
    DISTAFF_MEMORY = 5,    /* there is not enough memory */
    DISTAFF_INTERRUPTED = 6, /* distaff_options.interrupted returned a number other than 0 */
    DISTAFF_LAYOUT = 7,    /* an operand has another layout than the statement was prepared for */
    DISTAFF_FILE = 8       /* a file cannot be read or written */
};

/* offset and length give the place of an error in the statement's text, in bytes; offset is -1
 * without a place. message ends with the line of the statement and carets under the place, if
 * there is one. ticket is 0, or names a run that was interrupted and has not ended: until
 * distaff_ended returns 1 for it, the caller must keep the memory of its operands and result. */
typedef struct {
    int32_t code;
    int64_t offset, length;
    int64_t ticket;
    char message[4096];
} distaff_error;

/* A level of a tensor. pos and crd are NULL if the level's kind has no such array. npos and ncrd
 * are the lengths, and the widths are the bytes of an element: 4 or 8. */
typedef struct {
    const void *pos, *crd;
    int64_t npos, ncrd;
    int32_t pos_width, crd_width;
} distaff_level;

/* A tensor over memory of the caller, which keeps and may change the values between runs.
 *
 * format has a letter for each level, as in "ds" (CSR), and optionally the modes in the order in
 * which they are stored, as in "ds:1,0" (CSC). type is "float64", "int32", ... There are order
 * sizes and order levels. If trusted is not 0, pos and crd are not checked; if they are wrong,
 * results are wrong or the program crashes. memory is NULL, or what a tensor that the library
 * made holds: distaff_release frees it. */
typedef struct {
    const char *type, *format;
    int32_t order;
    int32_t trusted;
    const int64_t *sizes;
    distaff_level *levels;
    void *vals;
    int64_t nvals;
    void *memory;
} distaff_tensor;

/* Zero is the default of each field. size is sizeof(distaff_options).
 * target is "cpu", "cuda", "auto" or "interpreter".
 * interrupted is called on the calling thread about every 20 milliseconds of a call that takes long;
 * progress too, with words about the running statement, if they are known.
 * note is called, from any thread, with a line that a user should read. */
typedef struct {
    size_t size;
    int32_t threads, ranks;
    int64_t memory_limit;
    const char *target, *tmp;
    int32_t (*interrupted)(void *user);
    void (*progress)(void *user, const char *what);
    void (*note)(void *user, const char *line);
    void *user;
} distaff_options;

typedef struct distaff_env distaff_env;
typedef struct distaff_statement distaff_statement;

/* The library's version, and DISTAFF_API when it was built. */
const char *distaff_version(void);
int32_t distaff_api(void);
/* The names of the types of values, with spaces between them. */
const char *distaff_types(void);

/* An environment holds the options of statements. options may be NULL. distaff_close frees it after
 * its last statement was freed. */
distaff_env *distaff_open(const distaff_options *options, distaff_error *error);
void distaff_close(distaff_env *env);

/* Prepares a statement for operands of the layouts of the n tensors with these names: types,
 * formats, sizes and widths. The operands are read, but not kept. format is how the result is
 * stored; if it is NULL, the result is dense, or sparse if each term of the statement is absent
 * wherever a sparse operand is. sizes is NULL, or has the sizes of the result's modes; -1 is a size
 * that follows from the operands. If the statement is "y(i) += ...", y is one of the operands. */
distaff_statement *distaff_prepare(distaff_env *env, const char *text, const char *format,
                                   const int64_t *sizes, int32_t n, const char *const *names, const distaff_tensor *operands,
                                   distaff_error *error);
void distaff_free(distaff_statement *s);

/* Fills type, format, order and sizes of result; they live as long as s. */
void distaff_result(distaff_statement *s, distaff_tensor *result);

/* Runs a statement on operands in the order of distaff_prepare. If result->vals is not NULL, the
 * result must be dense: its nvals values are written there, in the order of its format. Otherwise
 * the library makes the result; the caller calls distaff_release. */
int32_t distaff_run(distaff_statement *s, const distaff_tensor *operands, distaff_tensor *result,
                    distaff_error *error);
void distaff_release(distaff_tensor *t);
int32_t distaff_ended(int64_t ticket);

/* Reads a tensor from a file of any format that Distaff reads. format and type may be NULL. */
int32_t distaff_read(distaff_env *env, const char *path, const char *format, const char *type,
                     distaff_tensor *result, distaff_error *error);
/* Writes a tensor to a file, in the format of its extension. */
int32_t distaff_write(distaff_env *env, const char *path, const distaff_tensor *t,
                      distaff_error *error);
/* Stores the tensor t in another format. Entries of t may be unsorted and repeated if t has a format
 * of levels u and q or c; repeated entries are added. */
int32_t distaff_convert(distaff_env *env, const distaff_tensor *t, const char *format,
                        distaff_tensor *result, distaff_error *error);

/* Runs a job file. name is its name in messages. The n tensors replace the inputs of the tensors
 * with these names, and params has nparams texts "NAME=VALUE". After the run, given is called with
 * every tensor that has a value and is not an operand; it calls distaff_release. say is called with
 * every line that the job prints. user is passed to both. */
int32_t distaff_job(distaff_env *env, const char *name, const char *text, int32_t nparams,
                    const char *const *params, int32_t n, const char *const *names,
                    const distaff_tensor *tensors,
                    void (*given)(void *user, const char *name, distaff_tensor *t),
                    void (*say)(void *user, const char *line), void *user, distaff_error *error);

/* Runs a command line of the program distaff, in this process. args[0] is "distaff". The texts that
 * it prints are stored in *out and *err, which distaff_free_text frees. The result is the exit code.
 * If inherit is not 0, it prints to the standard output and error instead. */
int32_t distaff_command(int32_t n, const char *const *args, int32_t inherit, char **out, char **err);
void distaff_free_text(char *text);

#ifdef __cplusplus
}
#endif
#endif
