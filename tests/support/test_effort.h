/* How much the suite under way has time for. */
#ifndef TESTS_SUPPORT_TEST_EFFORT_H
#define TESTS_SUPPORT_TEST_EFFORT_H

#include <stdbool.h>

/* Whether SKIPJACK_TEST_LONG asks for the long suite. */
bool test_is_long(void);
/* That many cases, ten times as many in the long suite. */
int test_effort(int count);

#endif
