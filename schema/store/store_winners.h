/*
 * What won before, for searches to begin with: a table of each solver's winners,
 * gathered from kept results (the fastest of all campaigns, also of dropped ones), golden
 * versions and foreign campaigns, and the prior that a job is given of it. A prior is at most 16 texts of perf configs,
 * the nearest first: those that won for the same solver (by name), direction,
 * types and layouts, by the sum of the differences of the sizes' logarithms to
 * the base of two, and of 0 for the same target, 2 for the same architecture, 4
 * for its family, 6 for its vendor and 8 for any other (0035_winners.sql). They
 * may be of another revision, or of somebody else's solver of that name: whoever
 * takes one looks first whether it is a config of the job.
 *
 * A job's prior is made when its first round is claimed to be built, and never
 * changes, whatever becomes of the campaigns that it came from: so the job's
 * search can be repeated.
 */
#ifndef SCHEMA_STORE_STORE_WINNERS_H
#define SCHEMA_STORE_STORE_WINNERS_H

#include "schema/store/store.h"

/* A campaign with more jobs that have ended is not gathered while somebody waits for it: about a
 * second. */
#define GATHER_SOON 20000

/* Gathers what the table lacks, in steps of a few thousand rows, and forgets what dropped foreign campaigns left.
 * most: see GATHER_SOON; 0 for all. Ends between two steps when *stop (may be NULL) is not 0. Needs a
 * coordinator's rights. */
bool store_gather_winners(Store *store, int64_t most, const volatile gint *stop, GError **error);

/* How many of a campaign's jobs began with a prior that was not empty. */
bool store_count_priors(Store *store, int64_t campaign, int64_t *jobs, GError **error);

/* Sets the prior of those jobs that the worker claimed to build and whose campaign asks for priors. If the database
 * cannot give them, the jobs get a `damage`. False only if the connection is lost. Internal to the store. */
bool store_give_priors(Store *store, int64_t worker, GPtrArray *jobs, GError **error);

#endif
