/* How much the suite under way has time for. */
#ifndef TESTS_SUPPORT_TEST_EFFORT_H
#define TESTS_SUPPORT_TEST_EFFORT_H

#include <stdbool.h>

/* Whether SKIPJACK_TEST_LONG asks for the long suite. */
bool test_is_long(void);
/* Whether this is a build with AddressSanitizer. What a case comes to is looked at without; with it, how it
 * gets there, in many times the time. */
bool test_is_sanitized(void);
/* That many cases, ten times as many in the long suite, a third of them under a sanitizer. */
int test_effort(int count);

#endif
