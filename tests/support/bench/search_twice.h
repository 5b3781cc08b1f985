/*
 * Two campaigns of the same problems from nothing: how often do they name winners that are equally fast? The jobs are those
 * of searched_jobs.h; they take turns, round by round. Each seed is a campaign. A problem ships the fastest config that any
 * of its jobs tried, as if the second measurement found it.
 *
 * The rules say when a job's search ends: after so many configs, or after more in a job whose best time is close to the
 * problem's (struct search_budget).
 */
#ifndef TESTS_SUPPORT_BENCH_SEARCH_TWICE_H
#define TESTS_SUPPORT_BENCH_SEARCH_TWICE_H

#include "coordinator/replay/recorded_space.h"

/* Prints for each rule the share of pairs of campaigns that agree within 2 %, the winners' times over the optima, how many
 * configs were tried, and which part of the seconds of all configs they took. spaces: struct recorded_space *, each of a
 * problem; set: their name. */
void search_twice_print(const char *set, const GPtrArray *spaces, int seeds);

#endif
