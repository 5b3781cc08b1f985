/* Processes whose parent ignored or blocked signals. */
#include "schema/monitor/signals.h"

#include <glib.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A line of this process's /proc/self/status, a set of signals in which signal 1 is the lowest bit. */
static guint64 signal_set(const char *name)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
    const char *line = strstr(text, name);
    g_assert_nonnull(line);
    return g_ascii_strtoull(line + strlen(name), NULL, 16);
}

static guint64 bit(int number)
{
    return (guint64)1 << (number - 1);
}

/* The signals that the C library keeps for itself, 32 and 33 here: no program can set them through it, but some
 * parents (Go's runtime, a sandbox's first process) have them ignored in all their children. */
static guint64 kept_by_the_library(void)
{
    guint64 kept = 0;
    for (int number = SIGSYS + 1; number < SIGRTMIN; number++)
        kept |= bit(number);
    return kept;
}

/* Ignores and blocks everything, as the parent's children would inherit it; the kernel is asked itself, since the
 * library refuses to ignore what it keeps. */
static void inherit_the_worst(void)
{
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        guint64 mask;
    } ignored = {.handler = SIG_IGN};
    sigset_t all;
    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, &ignored, NULL, sizeof ignored.mask);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static int exit_status_of(void (*body)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    return status;
}

static void begin_and_look(void)
{
    const guint64 shells =
        bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
    inherit_the_worst();
    signals_begin();
    g_assert_cmphex(signal_set("SigBlk:"), ==, 0);
    g_assert_cmphex(signal_set("SigIgn:") & ~kept_by_the_library(), ==,
                    shells | bit(SIGPIPE) | bit(SIGXFSZ));
}

static void nothing_is_blocked_and_what_shells_ignore_stays(void)
{
    g_assert_cmpint(exit_status_of(begin_and_look), ==, 0);
}

static void begin_and_wait_for_a_child(void)
{
    int status = -1;
    inherit_the_worst();
    signals_begin();
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    _exit(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? 0 : 1);
}

static void children_can_be_waited_for(void)
{
    g_assert_cmpint(exit_status_of(begin_and_wait_for_a_child), ==, 0);
}

static void begin_and_get_term(void)
{
    inherit_the_worst();
    signals_begin();
    raise(SIGTERM);
}

static void sigterm_ends(void)
{
    int status = exit_status_of(begin_and_get_term);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void look_at_ending(void)
{
    signal(SIGHUP, SIG_DFL);
    g_assert_true(signals_is_ending(SIGHUP));
    g_assert_true(signals_is_ending(SIGINT));
    g_assert_true(signals_is_ending(SIGTERM));
    g_assert_false(signals_is_ending(SIGCHLD));
    g_assert_false(signals_is_ending(0));
}

static void look_at_ending_under_nohup(void)
{
    signal(SIGHUP, SIG_IGN);
    g_assert_false(signals_is_ending(SIGHUP));
    g_assert_true(signals_is_ending(SIGTERM));
}

static void sighup_asks_to_end_but_under_nohup(void)
{
    g_assert_cmpint(exit_status_of(look_at_ending), ==, 0);
    g_assert_cmpint(exit_status_of(look_at_ending_under_nohup), ==, 0);
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static void catch_each(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    signals_begin(); /* whoever runs the test may block them */
    signal(SIGHUP, SIG_DFL);
    signals_catch(on_signal);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        raise(numbers[i]);
        g_assert_cmpint(caught, ==, numbers[i]);
    }
}

static void each_is_caught(void)
{
    g_assert_cmpint(exit_status_of(catch_each), ==, 0);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    signal(SIGCHLD, SIG_DFL); /* whoever runs the test may ignore it */
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/signals/nothing_is_blocked_and_what_shells_ignore_stays",
                    nothing_is_blocked_and_what_shells_ignore_stays);
    g_test_add_func("/signals/children_can_be_waited_for", children_can_be_waited_for);
    g_test_add_func("/signals/sigterm_ends", sigterm_ends);
    g_test_add_func("/signals/sighup_asks_to_end_but_under_nohup",
                    sighup_asks_to_end_but_under_nohup);
    g_test_add_func("/signals/each_is_caught", each_is_caught);
    return g_test_run();
}
