/*
 * The progress of a long command on standard error. -q silences it.
 */
#ifndef COORDINATOR_CLI_PROGRESS_LINE_H
#define COORDINATOR_CLI_PROGRESS_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* A terminal shows one line that each call replaces; a log gets a plain line at most every ten
 * seconds. */
struct progress_line {
    bool terminal, shown;
    int64_t last_us;
};
void progress_line_init(struct progress_line *line);
void progress_line_show(struct progress_line *line, const char *text);
/* Ends the line, so that other output begins on a line of its own. */
void progress_line_end(struct progress_line *line);

#endif
