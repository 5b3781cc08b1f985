/* How many cases a test runs: few each day, drawn from a seed that changes daily; all in the long suite. */
#ifndef TESTS_SUPPORT_TEST_EFFORT_H
#define TESTS_SUPPORT_TEST_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether SKIPJACK_TEST_LONG asks for the long suite. */
bool test_is_long(void);
/* Whether this is a build with AddressSanitizer, which runs many times slower. */
bool test_is_sanitized(void);
/* Returns `count`, ten times as many in the long suite, a sixth under a sanitizer. */
int test_effort(int count);
/* Whether case `number` runs in this build: without a sanitizer always, and under one each runs on one of six
 * successive days. For cases whose results the other build checks, while a sanitizer looks at the same code in each. */
bool test_is_case(int number);

/* The seed of the day: the number of days since 1970, or SKIPJACK_TEST_SEED, which repeats another day's tests.
 * make sets it once for all programs of a run and prints it. */
uint32_t test_seed(void);
/* Whether case `number` runs today: cases take turns, so that each runs on one of any `days` successive days.
 * Always true in the long suite. */
bool test_is_turn(int number, int days);

#endif
