/*
 * This program as a child process: the coordinator opens no device and writes no export, but
 * starts the command that does.
 */
#ifndef COORDINATOR_PROCESS_PROCESS_H
#define COORDINATOR_PROCESS_PROCESS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* Blocks the signals that process_wait_signal() waits for: those of signals_ending(), and
 * SIGCHLD. */
void process_block_signals(void);
/* Unblocks the signals of signals_ending(): one that came while it was blocked takes effect now. SIGCHLD stays
 * blocked. */
void process_unblock_signals(void);
/* Waits at most timeout_ms and returns the signal, or 0 when none came. */
int process_wait_signal(int timeout_ms);

/*
 * Starts `skipjack ARGS...` (NULL-terminated) in a process group of its own, so that a
 * terminal's Ctrl-C reaches it through its parent only, with standard error appended to
 * log_path (NULL: inherited) and standard output to output_fd (-1: to where standard error
 * goes). It is asked to end (SIGTERM) when its parent dies. 0 and a set error when it cannot
 * be started.
 */
pid_t process_start(const char *const *args, const char *log_path, int output_fd, GError **error);

/* Returns true if the process has ended; *status is then its status as waitpid() gives it. */
bool process_ended(pid_t pid, int *status);

/* "ended with status 3", "was killed by signal 9 (Killed)". Free with g_free(). */
char *process_status_text(int status);

/* Runs a command to its end. *output is its standard output, also when the command fails, and
 * NULL when it could not be started. Signals must be unblocked: Ctrl-C ends this process, and the
 * command with it. */
bool process_run(const char *const *args, const char *log_path, char **output, GError **error);

/* The same for at most so many seconds: a command that takes longer is killed with its process group, and the error says
 * so. */
bool process_run_within(const char *const *args, double seconds, char **output, GError **error);

/* Runs a command with signals blocked (process_block_signals()). The first signal that asks to
 * end is passed on to the command and the second one kills it; a repeated SIGHUP does not, since
 * a closing terminal sends two. *caught is the last signal, or 0. */
bool process_run_stoppable(const char *const *args, const char *log_path, char **output,
                           int *caught, GError **error);

/* Does the same for commands whose exit status says more than done or failed: returns true if the command ended by
 * itself, with its exit status in *status. */
bool process_run_status(const char *const *args, char **output, int *status, int *caught,
                        GError **error);

/* Runs `skipjack worker --probe --eval local` and parses what it prints. A new reference, or NULL. */
json_t *process_probe(GError **error);

#endif
