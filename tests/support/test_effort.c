#include "tests/support/test_effort.h"

#include <glib.h>

bool test_is_long(void)
{
    return g_getenv("SKIPJACK_TEST_LONG") != NULL;
}

bool test_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer);
#else
    return false;
#endif
}

int test_effort(int count)
{
    if (test_is_long())
        return 10 * count;
    return test_is_sanitized() ? MAX(count / 3, 1) : count;
}
