#include "kernels/toolchains/clang_end.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* The message of clang's driver for a compiler process that a signal ended; the driver exits with 254. */
#define CRASH_WORDS         "unable to execute command: "
#define EXIT_OF_CRASHED     254
#define EXIT_INTERNAL_ERROR 70 /* exit status of an internal error of LLVM ("error in backend") */
/* exit statuses between these two are EXIT_SIGNAL plus the number of the signal that ended the compiler, where the
 * driver compiles in its own process */
#define EXIT_SIGNAL         128
#define EXIT_SIGNAL_BEHIND  160

const char *clang_crash_words(const struct compiler_run *run, char words[CLANG_WORDS_MAX])
{
    const char *said = strstr(run->output, CRASH_WORDS);
    int status = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : 0;

    if (WIFSIGNALED(run->status))
        return strsignal(WTERMSIG(run->status));
    if (status == EXIT_INTERNAL_ERROR)
        return "an internal error";
    if (status > EXIT_SIGNAL && status < EXIT_SIGNAL_BEHIND)
        return strsignal(status - EXIT_SIGNAL);
    if (status != EXIT_OF_CRASHED && !said)
        return NULL;
    if (!said)
        return "a signal";
    said += strlen(CRASH_WORDS);
    g_strlcpy(words, said, MIN(CLANG_WORDS_MAX, strcspn(said, "\n") + 1));
    return words;
}

const char *clang_outside_words(const struct compiler_run *run, const char *crash)
{
    static const char *const said[] = {
        "No space left on device",          "Disk quota exceeded",        "File too large",
        "IO failure on output stream",      "unable to open output file", "Cannot allocate memory",
        "Resource temporarily unavailable", "Too many open files"};

    if (crash && (g_str_has_prefix(crash, sigdescr_np(SIGKILL)) ||
                  g_str_has_prefix(crash, sigdescr_np(SIGTERM))))
        return crash;
    for (size_t i = 0; i < G_N_ELEMENTS(said); i++) {
        if (strstr(run->output, said[i]))
            return said[i];
    }
    return NULL;
}

bool clang_failed(const struct compiler_run *run, const char *version, const char *what,
                  GError **error)
{
    char buffer[CLANG_WORDS_MAX];
    const char *words = clang_crash_words(run, buffer);
    const char *outside = run->status == 0 ? NULL : clang_outside_words(run, words);

    if (outside)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "this machine did not let clang %s finish %s: %s", version, what, outside);
    else if (words)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_CRASH, "clang %s crashed over %s: %s",
                    version, what, words);
    else
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                    "clang %s refused %s, its log says why", version, what);
    return false;
}
