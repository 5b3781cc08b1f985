/*
 * A small made-up space with known times, for tests of searching: three parameters A, B and C of eight values each,
 * A * B at most 32. made_time() has several local optima; the fastest config is MADE_BEST.
 */
#ifndef TESTS_SUPPORT_MADE_SPACE_H
#define TESTS_SUPPORT_MADE_SPACE_H

#include "solvers/search/searcher.h"

extern const struct search_space made_space;
int made_space_count(void);
double made_time(const struct perf_config *config);
/* The time of MADE_BEST. */
double made_best_time(void);

/* Observes the config with this time. */
void made_observe(Searcher *searcher, const struct perf_config *config, double time);
/* Proposes a batch and observes each of its configs, with the time that `time` says. Appends the configs as text to
 * `all` (may be NULL). Returns how many there were. */
int made_batch(Searcher *searcher, int wanted, double (*time)(const struct perf_config *),
               GString *all);

#endif
