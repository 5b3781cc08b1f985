/*
 * Estimates of working time from the farm's own history: what configs of a solver took on the target in its newest
 * campaigns; else what any solver's configs took there; else a guess by the kind of device.
 */
#ifndef COORDINATOR_NIGHTS_PLAN_ESTIMATE_H
#define COORDINATOR_NIGHTS_PLAN_ESTIMATE_H

#include "coordinator/nights/plan/night_reasons.h"
#include "schema/store/store.h"

enum estimate_source {
    ESTIMATE_BY_SOLVER,
    ESTIMATE_BY_TARGET,
    ESTIMATE_BY_GUESS,
    ESTIMATE_SOURCE_COUNT
};
/* "solver", "target", "guess". Static. */
const char *estimate_source_name(enum estimate_source source);

/* Sums over jobs. */
struct night_estimate {
    int jobs;
    int64_t configs;               /* at most */
    double eval_seconds;           /* of devices: verifying and timing */
    double compile_seconds;        /* of build processes, each a core */
    double node_seconds;           /* of nodes: the time that budgets count */
    int by[ESTIMATE_SOURCE_COUNT]; /* jobs by where their figures come from */
};
void night_estimate_add(struct night_estimate *sum, const struct night_estimate *more);

typedef struct estimator Estimator;
/* Reads the target's rates. Free with estimator_free(). */
Estimator *estimator_new(Store *store, const char *target, GError **error);
void estimator_free(Estimator *estimator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Estimator, estimator_free)

/* Estimates one job. configs: the most that it tries; search_seconds: the device time after which its search ends, 0 for no limit; round_configs: those of a round, after which the default config
 * is measured again. A job that is measured again compiles nothing and measures a few kept configs. */
struct night_estimate estimator_ask(const Estimator *estimator, const char *solver,
                                    enum night_action action, int64_t configs,
                                    double search_seconds, int round_configs);

#endif
