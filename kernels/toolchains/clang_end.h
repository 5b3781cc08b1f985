/*
 * How a run of clang ended that left no code, told from its status and its last words: it refused the source, crashed
 * over it, or was kept by the machine from finishing.
 */
#ifndef KERNELS_TOOLCHAINS_CLANG_END_H
#define KERNELS_TOOLCHAINS_CLANG_END_H

#include "kernels/toolchains/compiler_run.h"

#define CLANG_WORDS_MAX 64

/* What it crashed by, which may be in words; NULL where it did not. */
const char *clang_crash_words(const struct compiler_run *run, char words[CLANG_WORDS_MAX]);
/* What the machine, and not the source, made it fail of; NULL for nothing of that kind. crash: the above. */
const char *clang_outside_words(const struct compiler_run *run, const char *crash);
/* False, with KERNELS_ERROR_UNAVAILABLE, _CRASH or _COMPILE: what it was at, and how it ended. */
bool clang_failed(const struct compiler_run *run, const char *version, const char *what,
                  GError **error);

#endif
