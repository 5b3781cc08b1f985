/* A campaign for tests of exports: three problems with every solver that serves them on a CPU. Each
 * job is taken through one round at its default config, as workers do it, with made-up times and
 * code objects. Functions assert that they succeed. */
#ifndef TESTS_SUPPORT_EXPORT_EXPORT_FARM_H
#define TESTS_SUPPORT_EXPORT_EXPORT_FARM_H

#include "schema/results/conditions.h"
#include "schema/store/store.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "solvers/framework/space.h"

#define EXPORT_FARM_TARGET "cpu-znver4_2"
#define EXPORT_FARM_KEYS   3

/* Keys of the problems; problem i has the multiplicity i + 1. */
extern const char *const export_farm_keys[EXPORT_FARM_KEYS];

struct export_farm {
    Store *store;
    const char *target_id;
    struct target target;
    struct context context;
    int64_t campaign, worker;
    bool lose_kernels; /* the first problem's code objects are not stored */
};

/* Empties the scratch database and creates the campaign. */
void export_farm_init(struct export_farm *farm);
/* export_farm_init() with other problems. */
void export_farm_init_with(struct export_farm *farm, const char *const *keys, int count);
/* Takes all jobs through one round. Made-up times depend on problem and solver only. */
void export_farm_work(const struct export_farm *farm);
/* A worker that builds and measures until no job is claimable, rounds of remeasuring included. A
 * job of a search gets a single round, of its default config and the next ones of the space,
 * `configs` in all. measure returns a config's time in ms, or 0 if the config is unstable. All
 * verified configs of the round are kept, results of earlier rounds are not. */
struct export_farm_worker {
    int configs;
    double spread, drift; /* spread of every measured time, drift of every round */
    double (*measure)(void *data, const struct job *job, const struct perf_config *config);
    /* Returns FAILURE_NONE, or why the config is refused, with *detail as its log (static). NULL refuses none. */
    enum failure (*refuse)(void *data, const struct job *job, const struct perf_config *config,
                           const char **detail);
    void *data;
    const struct conditions *conditions; /* clocks and heat of every round of a GPU, or NULL */
    const char *stack;                   /* software of the rounds; NULL: "test" */
    int jobs;                            /* jobs of each pool; 0: until no job is claimable */
};
void export_farm_serve(const struct export_farm *farm, const struct export_farm_worker *worker);
/* Drops the farm's campaign and creates another one, of these problems and solvers: names joined by
 * commas, "" for all solvers. */
void export_farm_begin_anew(struct export_farm *farm, const char *const *keys, int count,
                            const char *solvers);
/* A worker of another target beside the farm's own, on the same store; its campaigns are made by export_farm_add(). The
 * store stays the caller's. */
void export_farm_enter(struct export_farm *farm, Store *store, const struct worker_info *info);
/* Creates another campaign beside the earlier ones, which becomes the farm's. */
struct export_farm_order {
    const char *name; /* also its identity */
    const char *const *keys;
    int count;
    const char *solvers;           /* as of export_farm_begin_anew() */
    int round_configs;             /* 0: 4 */
    int64_t night;                 /* the night that it belongs to, 0 for none */
    const struct job_cause *cause; /* of all its jobs, if it belongs to a night */
};
void export_farm_add(struct export_farm *farm, const struct export_farm_order *order);
void export_farm_clear(struct export_farm *farm);

#endif
