/*
 * Replays campaigns of limited time on recorded spaces: which job gets the next round of configs, and what the network's
 * time is when the budget is spent. The jobs are those of searched_jobs.h; each config costs the same, and one worker does
 * all. How often the network runs each problem is drawn, a hundredfold apart.
 *
 * The rules: round by round, and by the price of coordinator/CAMPAIGNS.md, as schema/sql/functions/prospects.sql computes
 * it; also with a longer tail.
 */
#ifndef TESTS_SUPPORT_BENCH_SEARCH_BUDGET_H
#define TESTS_SUPPORT_BENCH_SEARCH_BUDGET_H

#include "coordinator/replay/recorded_space.h"

/* Prints for each budget and rule the network's time over that of all optima, the mean of the draws and the worst, and which
 * part of the seconds of all configs was spent. set: the spaces' name.
 * spaces: struct recorded_space *, each of a problem (about.problem). */
void search_budget_print(const char *set, const GPtrArray *spaces, int draws);

#endif
