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
#ifndef SCHEMA_RESULTS_STORE_REMEASURE_H
#define SCHEMA_RESULTS_STORE_REMEASURE_H

#include "schema/sql/numbers.h"
#include "schema/store/failure.h"
#include "schema/store/store.h"
#include "solvers/framework/space.h"

enum remeasure_kind {
#define X(name, number, text) name = number,
    REMEASURE_NUMBERS(X)
#undef X
};
#define REMEASURE_WINNERS  (1u << REMEASURE_KIND_WINNERS) /* kept results: winners and runners-up */
#define REMEASURE_DEFAULTS (1u << REMEASURE_KIND_DEFAULTS) /* default configs with a time */
/* Unstable when measured last, or timed in a round that drifted (drift.h) or whose device was throttled (THROTTLE_MARKED). */
#define REMEASURE_UNSTABLE (1u << REMEASURE_KIND_UNSTABLE)
#define REMEASURE_ALL      (REMEASURE_WINNERS | REMEASURE_DEFAULTS | REMEASURE_UNSTABLE)

struct remeasure_wish {
    unsigned what; /* kinds of configs to measure again: REMEASURE_... or'ed */
    /* "name:revision:hash", NULL-terminated: only jobs of these solvers are measured again. */
    const char *const *solvers;
    bool dry_run; /* only counts */
};
struct remeasure_counts {
    int64_t jobs, rounds; /* jobs and rounds that were asked for; in a dry run, that would be */
    /* configs that were asked for, by kind; a config of several kinds counts for the first */
    int64_t winners, defaults, unstable;
    /* Jobs that still measure an earlier wish; if there are any, this call asked for nothing. */
    int64_t under_way;
    int64_t at_work;         /* other open jobs, which are left as they are */
    int64_t other_revisions; /* done jobs that are left alone since `solvers` lacks their solver */
    /* Chosen jobs that cannot be measured again: they failed, have no such config, or `solvers` lacks their solver.
     * Set by store_remeasure_jobs() alone. */
    int64_t impossible;
};
/* STORE_ERROR_NOT_FOUND for an unknown campaign; STORE_ERROR_STATE if it is cancelled, build-only or foreign, or
 * its deadline has passed. */
bool store_remeasure(Store *store, int64_t campaign, const struct remeasure_wish *wish,
                     struct remeasure_counts *counts, GError **error);

/* A job to measure again, and the nodes that may do it; NULL allows any node. */
struct remeasure_job {
    int64_t job;
    const char *only_node; /* a worker of this node should measure it */
    const char *not_node;  /* a worker of another node should measure it */
    /* The configs to measure instead of those of the asked kinds, at most 16; count 0: those of the asked kinds. */
    const struct perf_config *configs;
    int config_count;
};
/* Has chosen ended jobs measure their configs of these kinds again. A job that is named several times is measured as
 * often, one time after the other. The first round of a job waits wait_seconds for a worker of the right node, the
 * second one twice as long, and so on; then any worker measures it. */
bool store_remeasure_jobs(Store *store, int64_t campaign, const struct remeasure_job *jobs,
                          int count, unsigned what, const char *const *solvers, double wait_seconds,
                          struct remeasure_counts *counts, GError **error);
/* A config that a round of store_remeasure_jobs() with nodes measured. Texts are "" and numbers 0 if unknown. */
struct remeasured {
    int64_t job, problem_id, at_unix; /* at: when a worker handed it in */
    char *solver, *hash, *config, *stack, *node;
    int revision, number; /* number: of the round */
    bool wished;          /* false for the default config, which each round measures besides */
    enum failure failure;
    char *detail;
    int n;
    double median_ms, spread, drift;
    int sm_mhz, temperature_c; /* lowest and highest of the round */
    unsigned throttle;         /* bits of enum throttle, conditions.h */
};
void remeasured_free(struct remeasured *config);
/* GPtrArray of struct remeasured *, by job, round and config. */
GPtrArray *store_list_remeasured(Store *store, int64_t campaign, GError **error);
/* Nodes whose workers can measure for the campaign now: a heartbeat within ten minutes, with its pool, target and
 * stack. NULL-terminated; free with g_strfreev(). */
char **store_list_measuring_nodes(Store *store, int64_t campaign, GError **error);

#endif
