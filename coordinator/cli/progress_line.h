/*
 * The progress of a long command on standard error. -q silences it.
 */
#ifndef COORDINATOR_CLI_PROGRESS_LINE_H
#define COORDINATOR_CLI_PROGRESS_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* Shows progress on standard error: on a terminal one line that is written again, else a plain
 * line every ten seconds or so. */
struct progress_line {
    bool terminal, shown;
    int64_t last_us;
};
void progress_line_init(struct progress_line *line);
void progress_line_show(struct progress_line *line, const char *text);
/* Ends an updating line, so that other words may follow. */
void progress_line_end(struct progress_line *line);

#endif
