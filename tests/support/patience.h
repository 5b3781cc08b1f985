/* How long tests wait for events that usually come at once. */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <glib.h>

/* Far more than any event takes, since a machine that others use may hardly run the test for
 * minutes. */
#define PATIENCE_SECONDS 300

/* The end of a wait that begins now, in microseconds of g_get_monotonic_time(). */
gint64 patience_end(void);

#endif
