/*
 * What a process says while it works, a line a happening: for people
 * ("worker: KEY SOLVER: ...") or, where a machine reads along, one JSON object
 * a line with the same members for all. A line is one write of at most
 * PIPE_BUF bytes to standard error, so lines of processes that share a pipe
 * or a file never mix. Any thread may write.
 */
#ifndef SCHEMA_MONITOR_LOG_H
#define SCHEMA_MONITOR_LOG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };

/* What a line is about; zero and NULL members are left out of it. */
struct log_about {
    int64_t campaign, job;
    int64_t attempt; /* the fence of the claim */
    bool in_round;
    int round;
    const char *problem, *solver; /* keys and names, which the form for people puts first */
    const char *device;
};

/* Once, before the first line that belongs to the log. who: "worker". format ("text", "json") and level
 * ("debug", "info", "warning", "error") are what options said, or NULL: then SKIPJACK_LOG and
 * SKIPJACK_LOG_LEVEL say, and else it is text on a terminal, JSON elsewhere, from info on. GLib's
 * messages become lines of the log, too. Without this call lines are text from "skipjack". False where a word
 * is not listed here: G_OPTION_ERROR_BAD_VALUE. */
bool log_open(const char *who, const char *format, const char *level, GError **error);

/* From now on lines below a warning are left out, and so are progress and notices of commands, which ask
 * log_is_quiet(). Errors and results stay. */
void log_set_quiet(void);
bool log_is_quiet(void);

/* Members of every line from now on; before other threads write. worker 0: none. */
void log_name_node(const char *node);
void log_name_worker(int64_t worker);

/* event: a short stable word, "database_away". about may be NULL. What is no UTF-8 is replaced, what
 * is too long cut, which "..." shows. */
G_GNUC_PRINTF(4, 5)
void log_write(enum log_level level, const char *event, const struct log_about *about,
               const char *format, ...);

/* For what repeats: whether it is to be said now, which is at first and then once a minute. *left_out:
 * how often it was not since. */
struct log_limit {
    gint64 next_us;
    unsigned left_out;
};
bool log_due(struct log_limit *limit, unsigned *left_out);

#endif
