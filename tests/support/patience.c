#include "tests/support/patience.h"

gint64 patience_end(void)
{
    return g_get_monotonic_time() + PATIENCE_SECONDS * (gint64)G_USEC_PER_SEC;
}
