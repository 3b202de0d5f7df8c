/* The functions of distaff.h that are written in Go. */
#include "_cgo_export.h"

#include <stdlib.h>

distaff_env *distaff_open(const distaff_options *options, distaff_error *error) {
    return goOpen((distaff_options *)options, error);
}
void distaff_close(distaff_env *env) { goClose(env); }

distaff_statement *distaff_prepare(distaff_env *env, const char *text, const char *format,
                                   const int64_t *sizes, int32_t n, const char *const *names,
                                   const distaff_tensor *operands, distaff_error *error) {
    return goPrepare(env, (char *)text, (char *)format, (int64_t *)sizes, n, (char **)names,
                     (distaff_tensor *)operands, error);
}
void distaff_free(distaff_statement *s) { goFree(s); }
void distaff_result(distaff_statement *s, distaff_tensor *result) { goResult(s, result); }

int32_t distaff_run(distaff_statement *s, const distaff_tensor *operands, distaff_tensor *result,
                    distaff_error *error) {
    return goRun(s, (distaff_tensor *)operands, result, error);
}
void distaff_release(distaff_tensor *t) {
    if (t != NULL && t->memory != NULL)
        goRelease(t);
}
int32_t distaff_ended(int64_t ticket) { return goEnded(ticket); }

int32_t distaff_read(distaff_env *env, const char *path, const char *format, const char *type,
                     distaff_tensor *result, distaff_error *error) {
    return goRead(env, (char *)path, (char *)format, (char *)type, result, error);
}
int32_t distaff_write(distaff_env *env, const char *path, const distaff_tensor *t,
                      distaff_error *error) {
    return goWrite(env, (char *)path, (distaff_tensor *)t, error);
}
int32_t distaff_convert(distaff_env *env, const distaff_tensor *t, const char *format,
                        distaff_tensor *result, distaff_error *error) {
    return goConvert(env, (distaff_tensor *)t, (char *)format, result, error);
}

int32_t distaff_job(distaff_env *env, const char *name, const char *text, int32_t nparams,
                    const char *const *params, int32_t n, const char *const *names,
                    const distaff_tensor *tensors,
                    void (*given)(void *user, const char *name, distaff_tensor *t),
                    void (*say)(void *user, const char *line), void *user, distaff_error *error) {
    return goJob(env, (char *)name, (char *)text, nparams, (char **)params, n, (char **)names,
                 (distaff_tensor *)tensors, given, say, user, error);
}

int32_t distaff_command(int32_t n, const char *const *args, int32_t inherit, char **out, char **err) {
    return goCommand(n, (char **)args, inherit, out, err);
}
void distaff_free_text(char *text) { free(text); }
const char *distaff_types(void) { return goTypes(); }
const char *distaff_version(void) { return goVersion(); }
int32_t distaff_api(void) { return DISTAFF_API; }

/* Calls of the caller's functions, for Go. */
int32_t call_interrupted(const distaff_options *o) {
    return o->interrupted == NULL ? 0 : o->interrupted(o->user);
}
void call_progress(const distaff_options *o, const char *what) {
    if (o->progress != NULL)
        o->progress(o->user, what);
}
void call_note(const distaff_options *o, const char *line) {
    if (o->note != NULL)
        o->note(o->user, line);
}
void call_given(distaff_given f, void *user, const char *name, distaff_tensor *t) {
    f(user, name, t);
}
void call_say(distaff_say f, void *user, const char *line) { f(user, line); }
