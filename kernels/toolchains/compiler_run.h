/*
 * Runs a program to its end, without a shell, in a private folder. Its output is captured, and the folder is
 * removed with all files that it leaves. Its environment is PATH, and TMPDIR with the folder. The program dies
 * with its caller. Its own children are in the caller's process group, which must end them.
 */
#ifndef KERNELS_TOOLCHAINS_COMPILER_RUN_H
#define KERNELS_TOOLCHAINS_COMPILER_RUN_H

#include "kernels/toolchains/toolchain.h"

typedef struct compiler_run {
    char *folder;
    char *output; /* standard output and then standard error of the last run; "" for none */
    int status;   /* exit status of the last run, as waitpid() gives it */
} CompilerRun;

/* Makes the folder below TMPDIR. KERNELS_ERROR_UNAVAILABLE when it cannot. */
bool compiler_run_open(struct compiler_run *run, GError **error);
/* Removes the folder and its files. Also allowed after a failed compiler_run_open(). */
void compiler_run_close(struct compiler_run *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CompilerRun, compiler_run_close)

bool compiler_run_write(struct compiler_run *run, const char *name, const char *text,
                        GError **error);
/* The content of a file that the program left; NULL without an error where it left none. */
GBytes *compiler_run_read(const struct compiler_run *run, const char *name);

/* Runs the program at path argv[0] in the folder. True when it ran, however it ended; otherwise
 * KERNELS_ERROR_UNAVAILABLE. */
bool compiler_run_program(struct compiler_run *run, const char *const *argv, GError **error);
/* compiler_run_program() with additions to the environment: "NAME=VALUE" sets a variable, "NAME" passes on the
 * caller's value, if it has one. */
bool compiler_run_program_with(struct compiler_run *run, const char *const *argv,
                               const char *const *settings, GError **error);

#endif
