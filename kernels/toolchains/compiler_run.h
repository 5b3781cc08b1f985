/*
 * A program run to its end, without a shell, in a private folder of its own:
 * what it prints is captured, and all files it leaves go with the folder. Of
 * the environment it sees PATH alone; TMPDIR is the folder. It dies with its
 * caller; what it started itself is the caller's process group's to end.
 */
#ifndef KERNELS_TOOLCHAINS_COMPILER_RUN_H
#define KERNELS_TOOLCHAINS_COMPILER_RUN_H

#include "kernels/toolchains/toolchain.h"

typedef struct compiler_run {
    char *folder;
    char *output; /* of the last run, standard error behind standard output, "" when nothing */
    int status;   /* of the last run, as waitpid() gives it */
} CompilerRun;

/* Makes the folder, below TMPDIR. KERNELS_ERROR_UNAVAILABLE when it cannot be made. */
bool compiler_run_open(struct compiler_run *run, GError **error);
/* Removes the folder with all in it, whatever happened before; also after a failed compiler_run_open(). */
void compiler_run_close(struct compiler_run *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CompilerRun, compiler_run_close)

bool compiler_run_write(struct compiler_run *run, const char *name, const char *text,
                        GError **error);
/* A file that the program left, NULL and no error when it left none. */
GBytes *compiler_run_read(const struct compiler_run *run, const char *name);

/* Runs argv[0], a path, in the folder. True when the program ran, however it ended; else
 * KERNELS_ERROR_UNAVAILABLE. */
bool compiler_run_program(struct compiler_run *run, const char *const *argv, GError **error);
/* The same with more of an environment: "NAME=VALUE", or a NAME whose value is the caller's, where it has one. */
bool compiler_run_program_with(struct compiler_run *run, const char *const *argv,
                               const char *const *settings, GError **error);

#endif
