#include "coordinator/nights/plan/estimate.h"

#include "coordinator/plan/plan.h"
#include "coordinator/plan/progress.h"
#include "schema/results/store_night_facts.h"

/* Campaigns that are read: enough for solvers that were not in the newest ones. */
#define CAMPAIGNS      5
/* Rates of fewer configs than these are no measure: the first ones of a process load and warm up. */
#define CONFIGS_LEAST  4
/* Configs of a job that is measured again: winner, default, and runners-up (WORK_KEPT_BEST of the worker). */
#define AGAIN_CONFIGS  4
/* Build processes of a node, where none of its campaigns tells what a config takes of its time. */
#define BUILD_CHILDREN 8

struct rate {
    double build_seconds, eval_seconds; /* a config */
};

struct estimator {
    GHashTable *solvers; /* name -> struct rate */
    struct rate target;
    enum estimate_source source; /* of `target`: ESTIMATE_BY_TARGET or ESTIMATE_BY_GUESS */
    /* Node's time for each second of evaluating and compiling: budgets count less than both, since compiling goes on
     * beside measuring. 0 if unknown. */
    double node_share;
};

const char *estimate_source_name(enum estimate_source source)
{
    static const char *const names[] = {"solver", "target", "guess"};
    return names[source];
}

void night_estimate_add(struct night_estimate *sum, const struct night_estimate *more)
{
    sum->jobs += more->jobs;
    sum->configs += more->configs;
    sum->eval_seconds += more->eval_seconds;
    sum->compile_seconds += more->compile_seconds;
    sum->node_seconds += more->node_seconds;
    for (int i = 0; i < ESTIMATE_SOURCE_COUNT; i++)
        sum->by[i] += more->by[i];
}

static void take_rates(Estimator *estimator, const GPtrArray *rates)
{
    struct night_rate all = {0};
    for (guint i = 0; i < rates->len; i++) {
        const struct night_rate *each = g_ptr_array_index(rates, i);
        all.built += each->built;
        all.evaluated += each->evaluated;
        all.build_seconds += each->build_seconds;
        all.eval_seconds += each->eval_seconds;
        if (each->built < CONFIGS_LEAST || each->evaluated < CONFIGS_LEAST)
            continue;
        struct rate *rate = g_new(struct rate, 1);
        *rate = (struct rate){each->build_seconds / (double)each->built,
                              each->eval_seconds / (double)each->evaluated};
        g_hash_table_insert(estimator->solvers, g_strdup(each->solver), rate);
    }
    if (all.built < CONFIGS_LEAST || all.evaluated < CONFIGS_LEAST)
        return;
    estimator->source = ESTIMATE_BY_TARGET;
    estimator->target = (struct rate){all.build_seconds / (double)all.built,
                                      all.eval_seconds / (double)all.evaluated};
}

Estimator *estimator_new(Store *store, const char *target, GError **error)
{
    g_autoptr(GPtrArray) rates = store_night_rates(store, target, CAMPAIGNS, error);
    if (!rates)
        return NULL;
    struct progress_rates usual;
    progress_rates_load(store, target, &usual);
    Estimator *estimator = g_new0(Estimator, 1);
    estimator->solvers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    estimator->source = ESTIMATE_BY_GUESS;
    estimator->target = (struct rate){usual.compile_seconds, usual.eval_seconds};
    if (usual.measured && usual.working_seconds > 0)
        estimator->node_share =
            usual.working_seconds / (usual.compile_seconds + usual.eval_seconds);
    take_rates(estimator, rates);
    return estimator;
}

void estimator_free(Estimator *estimator)
{
    if (!estimator)
        return;
    g_hash_table_unref(estimator->solvers);
    g_free(estimator);
}

static double node_seconds(const Estimator *estimator, const struct night_estimate *job)
{
    return estimator->node_share > 0
               ? estimator->node_share * (job->eval_seconds + job->compile_seconds)
               : job->eval_seconds + job->compile_seconds / BUILD_CHILDREN;
}

struct night_estimate estimator_ask(const Estimator *estimator, const char *solver,
                                    enum night_action action, int64_t configs,
                                    double search_seconds, int round_configs)
{
    const struct rate *own = g_hash_table_lookup(estimator->solvers, solver);
    const struct rate *rate = own ? own : &estimator->target;
    struct night_estimate job = {.jobs = 1};
    job.by[own ? ESTIMATE_BY_SOLVER : estimator->source] = 1;
    if (action == NIGHT_ACTION_AGAIN) {
        job.configs = MIN(configs, AGAIN_CONFIGS);
        job.eval_seconds = (double)job.configs * rate->eval_seconds;
        job.node_seconds = job.eval_seconds;
        return job;
    }
    job.configs = plan_configs_within(configs, round_configs, search_seconds, rate->eval_seconds);
    job.compile_seconds = (double)job.configs * rate->build_seconds;
    job.eval_seconds = (double)plan_evaluations(job.configs, round_configs) * rate->eval_seconds;
    job.node_seconds = node_seconds(estimator, &job);
    return job;
}
