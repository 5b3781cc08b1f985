/*
 * Measuring again what a campaign has measured. Its ended jobs are ready again,
 * each for rounds of the configs that are wished and no others, besides the
 * default one: a worker builds what has lost its code, and measures all of them
 * to the end. The results of the campaign are then those of the newest
 * measurement; the outcomes of earlier rounds stay stored. A config that fails
 * this time is no result any more.
 *
 * Budgets do not cut this short, since somebody asked for it; its time counts
 * as spent. A worker that dies costs a strike, as everywhere; a job that comes to
 * nothing stays as it was, with an event.
 */
#ifndef SCHEMA_STORE_STORE_REMEASURE_H
#define SCHEMA_STORE_STORE_REMEASURE_H

#include "schema/store/store.h"

#define REMEASURE_WINNERS  1u /* kept results: each job's winner and its runners-up */
#define REMEASURE_DEFAULTS 2u /* default configs with a time */
#define REMEASURE_UNSTABLE                                                                         \
    4u /* unstable when measured last, or timed in a round that drifted (drift.h) */
#define REMEASURE_ALL (REMEASURE_WINNERS | REMEASURE_DEFAULTS | REMEASURE_UNSTABLE)

struct remeasure_wish {
    unsigned what;              /* REMEASURE_... or'ed */
    const char *const *solvers; /* "name:revision:hash", NULL-terminated: jobs of these alone */
    bool dry_run;               /* only counts */
};
struct remeasure_counts {
    int64_t jobs, rounds;                /* asked for; for dry runs: that would be asked for */
    int64_t winners, defaults, unstable; /* their configs, each counted once, in this order */
    int64_t under_way;       /* jobs that an earlier wish measures again: then nothing was
                                             asked for */
    int64_t at_work;         /* other open jobs, which are left alone */
    int64_t other_revisions; /* done jobs of solvers that were not named */
};
/* STORE_ERROR_STATE where the campaign is cancelled, was only built, or is foreign. */
bool store_remeasure(Store *store, int64_t campaign, const struct remeasure_wish *wish,
                     struct remeasure_counts *counts, GError **error);

#endif
