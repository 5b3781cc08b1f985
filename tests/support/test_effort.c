#include "tests/support/test_effort.h"

#include <glib.h>

bool test_is_long(void)
{
    return g_getenv("SKIPJACK_TEST_LONG") != NULL;
}

int test_effort(int count)
{
    return test_is_long() ? 10 * count : count;
}
