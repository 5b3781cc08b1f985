/*
 * Measuring again. Ended jobs of a campaign become ready again, for rounds of
 * exactly the wished configs besides the default one. A worker builds the
 * kernels whose code was dropped, and measures all configs to the end. The
 * campaign's results are then those of the newest measurement, and a config that
 * fails this time is no longer a result. The outcomes of earlier rounds stay
 * stored.
 *
 * Budgets do not end these rounds; their time counts as spent. A worker that
 * dies costs a strike as usual. A job that fails stays as it was, with an event.
 */
#ifndef SCHEMA_STORE_STORE_REMEASURE_H
#define SCHEMA_STORE_STORE_REMEASURE_H

#include "schema/sql/numbers.h"
#include "schema/store/store.h"

enum remeasure_kind {
#define X(name, number, text) name = number,
    REMEASURE_NUMBERS(X)
#undef X
};
#define REMEASURE_WINNERS  (1u << REMEASURE_KIND_WINNERS) /* kept results: winners and runners-up */
#define REMEASURE_DEFAULTS (1u << REMEASURE_KIND_DEFAULTS) /* default configs with a time */
/* Unstable when measured last, or timed in a round that drifted (drift.h). */
#define REMEASURE_UNSTABLE (1u << REMEASURE_KIND_UNSTABLE)
#define REMEASURE_ALL      (REMEASURE_WINNERS | REMEASURE_DEFAULTS | REMEASURE_UNSTABLE)

struct remeasure_wish {
    unsigned what;              /* REMEASURE_... or'ed */
    const char *const *solvers; /* "name:revision:hash", NULL-terminated: jobs of these alone */
    bool dry_run;               /* only counts */
};
struct remeasure_counts {
    int64_t jobs, rounds; /* asked for, or in a dry run what would be */
    /* configs by kind; a config of several kinds counts for the first */
    int64_t winners, defaults, unstable;
    /* jobs that an earlier wish is still measuring; if there are any, nothing was asked for */
    int64_t under_way;
    int64_t at_work;         /* other open jobs, left as they are */
    int64_t other_revisions; /* done jobs whose solver is not in `solvers` */
};
/* STORE_ERROR_STATE if the campaign is cancelled, build-only or foreign. */
bool store_remeasure(Store *store, int64_t campaign, const struct remeasure_wish *wish,
                     struct remeasure_counts *counts, GError **error);

#endif
