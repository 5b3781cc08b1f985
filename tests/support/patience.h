/* How long a test waits for what should happen at once. */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <glib.h>

/* Many times what it takes: a machine whose processors are shared with others may hardly move for minutes. */
#define PATIENCE_SECONDS 300

/* When a wait that begins now is given up, by g_get_monotonic_time(). */
gint64 patience_end(void);

#endif
