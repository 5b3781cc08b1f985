/* Signals at the beginning of a process, and the signals that end it. */
#include "schema/monitor/signals.h"

#include <glib.h>
#include <signal.h>

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static bool may_stay_ignored(int number)
{
    static const int shells[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
    for (gsize i = 0; i < G_N_ELEMENTS(shells); i++)
        if (number == shells[i])
            return true;
    return false;
}

void signals_begin(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        if (is_ignored(number) && !may_stay_ignored(number))
            signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Read once, before a handler of ours replaces the inherited action. */
const int *signals_ending(void)
{
    static int numbers[SIGNALS_ENDING_MAX + 1];
    static gsize known;
    if (g_once_init_enter(&known)) {
        int count = 0;
        numbers[count++] = SIGINT;
        numbers[count++] = SIGTERM;
        if (!is_ignored(SIGHUP))
            numbers[count++] = SIGHUP;
        g_once_init_leave(&known, 1);
    }
    return numbers;
}

bool signals_is_ending(int number)
{
    for (const int *ending = signals_ending(); *ending; ending++)
        if (number == *ending)
            return true;
    return false;
}

void signals_catch(void (*handler)(int number))
{
    const struct sigaction action = {.sa_handler = handler};
    for (const int *number = signals_ending(); *number; number++)
        sigaction(*number, &action, NULL);
}

void signal_watch_start(struct signal_watch *watch, uv_loop_t *loop, uv_signal_cb callback,
                        void *data)
{
    watch->count = 0;
    for (const int *number = signals_ending(); *number; number++) {
        uv_signal_t *handle = &watch->handles[watch->count++];
        uv_signal_init(loop, handle);
        handle->data = data;
        uv_signal_start(handle, callback, *number);
    }
}

void signal_watch_unref(struct signal_watch *watch)
{
    for (int i = 0; i < watch->count; i++)
        uv_unref((uv_handle_t *)&watch->handles[i]);
}

void signal_watch_close(struct signal_watch *watch)
{
    for (int i = 0; i < watch->count; i++)
        uv_close((uv_handle_t *)&watch->handles[i], NULL);
    watch->count = 0;
}
