/*
 * Why a run of clang left no code, by its exit status and its last words: it refused the source, crashed, or
 * the machine did not let it finish.
 */
#ifndef KERNELS_TOOLCHAINS_CLANG_END_H
#define KERNELS_TOOLCHAINS_CLANG_END_H

#include "kernels/toolchains/compiler_run.h"

#define CLANG_WORDS_MAX 64

/* How clang crashed, possibly in `words`; NULL where it did not. */
const char *clang_crash_words(const struct compiler_run *run, char words[CLANG_WORDS_MAX]);
/* The machine's failure (full disk, no memory, killed), NULL without one. `crash` is clang_crash_words()'s result. */
const char *clang_outside_words(const struct compiler_run *run, const char *crash);
/* Sets KERNELS_ERROR_UNAVAILABLE, _CRASH or _COMPILE with what was compiled and how clang ended. Returns false. */
bool clang_failed(const struct compiler_run *run, const char *version, const char *what,
                  GError **error);

#endif
