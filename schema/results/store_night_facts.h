/*
 * The facts that the plan of a night reads, beside the history: the software that workers have today, what configs took so far,
 * and which targets have a history. These calls change nothing.
 */
#ifndef SCHEMA_RESULTS_STORE_NIGHT_FACTS_H
#define SCHEMA_RESULTS_STORE_NIGHT_FACTS_H

#include "schema/store/store.h"
#include "solvers/framework/target.h"

/* A software stack of the workers that a campaign for the target could use. A node counts with its running workers, or
 * else with its last worker if that was seen within three days. */
struct night_stack {
    bool builds; /* of workers that build; else of devices that measure */
    char *stack;
    char *nodes; /* joined by ", " */
    int devices; /* devices with this stack that running workers have; 0 for builders */
};
void night_stack_free(struct night_stack *stack);
/* wanted: a campaign's constraints, pool: its pool; NULL for none. GPtrArray of struct night_stack *, by text. */
GPtrArray *store_night_stacks(Store *store, const char *target, const char *wanted,
                              const char *pool, GError **error);

/* Times of a solver's configs in the target's newest campaigns. */
struct night_rate {
    char *solver;
    int64_t built, evaluated;           /* configs */
    double build_seconds, eval_seconds; /* sums */
};
void night_rate_free(struct night_rate *rate);
/* Reads that many campaigns. GPtrArray of struct night_rate *, by solver. */
GPtrArray *store_night_rates(Store *store, const char *target, int campaigns, GError **error);

/* Sets *nearest to the target with a history that is nearest to this one, as priors measure it (store_winners.h); to
 * the target itself if it has one, and to NULL if no target has. Free with g_free(). */
bool store_nearest_history(Store *store, const struct target *target, char **nearest,
                           GError **error);

#endif
