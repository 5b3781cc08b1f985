#include "coordinator/cli/progress_line.h"

#include "coordinator/cli/terminal.h"
#include "schema/monitor/log.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* In a log, lines about progress are at least this many seconds apart. */
#define PLAIN_LINE_SECONDS 10

void progress_line_init(struct progress_line *line)
{
    *line = (struct progress_line){.terminal = isatty(STDERR_FILENO)};
}

/* Returns the width of standard error in columns, 0 if the terminal does not say. A line that is
 * longer would wrap, and could then not be overwritten. */
static int error_columns(void)
{
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void progress_line_show(struct progress_line *line, const char *text)
{
    int64_t now = g_get_monotonic_time();
    if (log_is_quiet())
        return;
    if (line->terminal) {
        int columns = error_columns();
        terminal_restart_line();
        fprintf(stderr, "%.*s", columns > 1 ? columns - 1 : (int)strlen(text), text);
        fflush(stderr);
    } else if (!line->shown || now - line->last_us >= PLAIN_LINE_SECONDS * G_USEC_PER_SEC) {
        fprintf(stderr, "%s\n", text);
        line->last_us = now;
    }
    line->shown = true;
}

void progress_line_end(struct progress_line *line)
{
    if (line->terminal && line->shown)
        fputc('\n', stderr);
    line->shown = false;
}
