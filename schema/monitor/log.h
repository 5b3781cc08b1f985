/*
 * A process's log: one line an event. The text form is for people ("worker: KEY
 * SOLVER: ..."), the JSON form for machines: one object a line with fixed
 * members. A line is one write of at most PIPE_BUF bytes to standard error:
 * lines of processes that share a pipe or file never mix. Any thread may write.
 */
#ifndef SCHEMA_MONITOR_LOG_H
#define SCHEMA_MONITOR_LOG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };

/* The subject of a line; members that are 0 or NULL are left out. */
struct log_about {
    int64_t campaign, job;
    int64_t attempt; /* the fence of the claim */
    bool in_round;
    int round;
    const char *problem, *solver; /* keys and names; the text form begins with them */
    const char *device;
};

/* Begins the log; call it once, before the first line. who: "worker". format ("text", "json") and level
 * ("debug", "info", "warning", "error") are the options' words. NULL: SKIPJACK_LOG and SKIPJACK_LOG_LEVEL;
 * by default text on a terminal and JSON elsewhere, from info on. GLib's messages become lines of the log,
 * too. Without this call, lines are text from "skipjack". False with G_OPTION_ERROR_BAD_VALUE for another
 * word. */
bool log_open(const char *who, const char *format, const char *level, GError **error);

/* Quiet: leaves out lines below a warning. Commands leave out progress and notices if log_is_quiet().
 * Errors and results stay. */
void log_set_quiet(void);
bool log_is_quiet(void);

/* Sets members of every later line; call it before other threads write. worker 0: none. */
void log_name_node(const char *node);
void log_name_worker(int64_t worker);

/* Writes a line. event: a short stable word such as "database_away". about may be NULL. Bytes that are not
 * UTF-8 are replaced. A text that is too long is cut and ends in "...". */
G_GNUC_PRINTF(4, 5)
void log_write(enum log_level level, const char *event, const struct log_about *about,
               const char *format, ...);

/* For messages that repeat: whether to write this one, the first and then one a minute. *left_out counts
 * those left out since the last. */
struct log_limit {
    gint64 next_us;
    unsigned left_out;
};
bool log_due(struct log_limit *limit, unsigned *left_out);

#endif
