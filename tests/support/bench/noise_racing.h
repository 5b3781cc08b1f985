/* Racing: what the first look and the rule 'lost' of worker/measure save, and whether they drop the fastest config. */
#ifndef TESTS_SUPPORT_BENCH_NOISE_RACING_H
#define TESTS_SUPPORT_BENCH_NOISE_RACING_H

#include "tests/support/bench/noise_subject.h"

/* Measures every config of each recorded space (SKIPJACK_DATA/spaces and tests/bench/spaces/pocl) in random orders. A
 * run's time is drawn from the config's recorded readings, or from the recorded spread. Prints a table; says so if there are no spaces. */
void noise_racing_recorded(void);
/* Measures the fast configs of each recorded space again and again, with the whole protocol and without one of the steps
 * that deal with noise. */
void noise_steps_recorded(void);
/* Measures some configs of a solver's space on the device: without racing, then in random orders with it. */
void noise_racing_real(const struct noise_device *on);

#endif
