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

uint32_t test_seed(void)
{
    const char *seed = g_getenv("SKIPJACK_TEST_SEED");

    if (seed)
        return (uint32_t)g_ascii_strtoull(seed, NULL, 10);
    return (uint32_t)(g_get_real_time() / G_TIME_SPAN_DAY);
}

bool test_is_turn(int number, int days)
{
    return test_is_long() || ((uint32_t)number + test_seed()) % (uint32_t)days == 0;
}

/* Under a sanitizer one case of so many runs. */
#define SANITIZED_SHARE 6

bool test_is_case(int number)
{
    return !test_is_sanitized() || test_is_turn(number, SANITIZED_SHARE);
}

int test_effort(int count)
{
    if (test_is_long())
        return 10 * count;
    return test_is_sanitized() ? MAX(count / SANITIZED_SHARE, 1) : count;
}
