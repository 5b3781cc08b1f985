/*
 * Why a run of clang left no code, by its exit status and its last words: it refused the source, crashed, or
 * the machine did not let it finish.
 */
#ifndef KERNELS_TOOLCHAINS_CLANG_END_H
#define KERNELS_TOOLCHAINS_CLANG_END_H

#include "kernels/toolchains/compiler_run.h"

#define CLANG_WORDS_MAX 64

/* Words for how clang crashed, a static text or written to `words`; NULL where clang did not crash. */
const char *clang_crash_words(const struct compiler_run *run, char words[CLANG_WORDS_MAX]);
/* Words for a failure of the machine (full disk, no memory, process killed), NULL where the machine did not fail.
 * `crash` is clang_crash_words()'s result. */
const char *clang_outside_words(const struct compiler_run *run, const char *crash);
/* Sets KERNELS_ERROR_UNAVAILABLE, _CRASH or _COMPILE with what was compiled and how clang ended. Returns false. */
bool clang_failed(const struct compiler_run *run, const char *version, const char *what,
                  GError **error);

#endif
