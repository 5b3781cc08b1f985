/*
 * Signals: how a process of ours begins, and which signals ask it to end.
 *
 * A process inherits ignored and blocked signals. Some containers and
 * supervisors ignore SIGCHLD or block all signals: then no process can wait for
 * its children, and SIGTERM does nothing.
 */
#ifndef SCHEMA_MONITOR_SIGNALS_H
#define SCHEMA_MONITOR_SIGNALS_H

#include <stdbool.h>
#include <uv.h>

/*
 * Called first by main(), also by that of the children which this program starts of itself. Blocks no signal
 * and gives each signal its default effect, with these exceptions:
 * - SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN and SIGTTOU stay ignored where they are: nohup and shells do
 *   so for what runs in the background.
 * - SIGPIPE and SIGXFSZ are ignored: a reader that leaves and a file that reaches the size limit (ulimit -f)
 *   show as failed writes, EPIPE and EFBIG.
 */
void signals_begin(void);

/* The signals that ask this process to end in order, 0 behind the last: SIGINT, SIGTERM, and, unless it is
 * ignored, SIGHUP, which says that the terminal is gone. Static. */
const int *signals_ending(void);
bool signals_is_ending(int number);

/* Calls `handler` for each signal of signals_ending(). System calls that wait are interrupted (EINTR). */
void signals_catch(void (*handler)(int number));

#define SIGNALS_ENDING_MAX 3

/* Handles that watch the ending signals on a libuv loop. */
struct signal_watch {
    uv_signal_t handles[SIGNALS_ENDING_MAX];
    int count;
};
/* Starts the handles; each one's data is `data`. */
void signal_watch_start(struct signal_watch *watch, uv_loop_t *loop, uv_signal_cb callback,
                        void *data);
/* From now on the handles do not keep the loop running. */
void signal_watch_unref(struct signal_watch *watch);
/* Closes the handles. The loop must run until they are closed. */
void signal_watch_close(struct signal_watch *watch);

#endif
