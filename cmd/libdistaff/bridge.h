/* What the Go files of this package use beside distaff.h. */
#ifndef DISTAFF_BRIDGE_H
#define DISTAFF_BRIDGE_H

#include "check.h"
#include "distaff.h"

struct distaff_env {
    uintptr_t handle;
    distaff_options options;
};
struct distaff_statement {
    uintptr_t handle;
};

typedef void (*distaff_given)(void *user, const char *name, distaff_tensor *t);
typedef void (*distaff_say)(void *user, const char *line);

int32_t call_interrupted(const distaff_options *o);
void call_progress(const distaff_options *o, const char *what);
void call_note(const distaff_options *o, const char *line);
void call_given(distaff_given f, void *user, const char *name, distaff_tensor *t);
void call_say(distaff_say f, void *user, const char *line);

#endif
