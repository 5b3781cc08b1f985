/*
 * The prior of a replayed search, made as the database makes a job's (schema/store/store_winners.h): from the best
 * configs of other spaces, the nearest first.
 */
#ifndef COORDINATOR_REPLAY_REPLAY_PRIOR_H
#define COORDINATOR_REPLAY_REPLAY_PRIOR_H

#include "coordinator/replay/replay.h"

/* The distance of two spaces, as nearest_winners() of the database has it: the sum of |log2| ratios of the problems'
 * sizes, plus 0 for the same target, 2 for the same architecture, 4 for its family, 6 for its vendor, 8 for any
 * other. A part of it is 0 where a file names no problem, or no target, of ours. */
double replay_distance(const struct recorded_space *a, const struct recorded_space *b);

/* The configs of the setup's prior (struct perf_config), the most promising first: by the distance of their space plus
 * the place behind its fastest. If these sums are equal the better place comes first, then the earlier space. Empty
 * without a prior. The other spaces' own searches have this seed. */
GArray *replay_prior_configs(const struct replay_setup *setup, uint64_t seed);

#endif
