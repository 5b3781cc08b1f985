/*
 * Winners: the configs that won before, for searches to begin with. A table
 * holds each solver's winners, gathered from kept results (the fastest of all
 * campaigns, also of dropped ones), golden versions and foreign campaigns.
 *
 * A second table holds contenders: the ten fastest configs of each solver, problem
 * and target, from the farm's own campaigns.
 *
 * A job's prior is at most 16 of both, as texts, the nearest first. Candidates
 * won for the same solver name, direction, types and layouts. Their distance is
 * the sum of |log2| ratios of the problems' sizes, plus 0 for the same target, 2
 * for the same architecture, 4 for its family, 6 for its vendor, 8 for any
 * other. A contender is further away than its winner by its place behind it: 1 for
 * the next fastest, and so on. A candidate may be of another revision, or of another provider's solver
 * with that name: check that it is a config of the job.
 *
 * A third table holds attempts: how each config did that the farm tried for the same
 * solver, problem and target before, whatever the revision and the software, failed ones
 * included; the 80 fastest and the newest others, 160 at most. A job gets them with its prior
 * (struct job's `attempts`), so that a search that takes no result over still knows
 * what was slow.
 *
 * The prior is made when the job's first round is claimed to be built. It never
 * changes afterwards, whatever becomes of the campaigns that it came from, so
 * that the search can be repeated.
 */
#ifndef SCHEMA_STORE_STORE_WINNERS_H
#define SCHEMA_STORE_STORE_WINNERS_H

#include "schema/store/store.h"

/* store_gather_winners() leaves out campaigns with more ended jobs while a user waits: gathering this many
 * takes about a second. */
#define GATHER_SOON 20000

/* Gathers the winners that the table lacks, in steps of a few thousand rows, and drops those of dropped
 * foreign campaigns. most: GATHER_SOON, or 0 for no limit. Ends between two steps if *stop (may be NULL) is
 * not 0. Needs a coordinator's rights. */
bool store_gather_winners(Store *store, int64_t most, const volatile gint *stop, GError **error);

/* Counts the campaign's jobs whose prior was not empty, attempts aside. */
bool store_count_priors(Store *store, int64_t campaign, int64_t *jobs, GError **error);

/* Sets the prior of those jobs that the worker claimed to build and whose campaign asks for priors. If the database
 * cannot give them, the jobs get a `damage`. False only if the connection is lost. Internal to the store. */
bool store_give_priors(Store *store, int64_t worker, GPtrArray *jobs, GError **error);

#endif
