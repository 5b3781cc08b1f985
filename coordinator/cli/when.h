/*
 * Points of time and durations as users write and read them.
 */
#ifndef COORDINATOR_CLI_WHEN_H
#define COORDINATOR_CLI_WHEN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The forms that when_parse() reads, for an option's help and its error. */
#define WHEN_FORMS "07:00 (the next time it is that late here), 2h30m from now, or 2026-01-31T07:00"

/*
 * Reads a point of time into *unix_seconds, since 1970: the local clock's next 07:00 or 07:00:30; a
 * duration from now, 90s, 45m, 2h or 1d, several joined (1h30m); or a date with a time, in local time unless
 * it ends with Z or an offset as +02:00. Returns false for other texts and for a time that has passed.
 */
bool when_parse(const char *text, int64_t *unix_seconds);
/* "2026-01-31T07:00:00", in local time, which when_parse() takes. Free with g_free(). */
char *when_format(int64_t unix_seconds);
/* "2026-11-21 09:30:00", in local time, for tables. Free with g_free(). */
char *when_text(int64_t unix_seconds);
/* "45 s", "3 min 20 s", "2 h 10 min". Free with g_free(). */
char *when_duration(double seconds);

#endif
