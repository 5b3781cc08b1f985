/*
 * A campaign for tests of the way out: three problems with every solver that serves them on a CPU,
 * taken through one round as workers do it, each job at its default config, with made-up times and
 * code objects. Functions assert that they succeed.
 */
#ifndef TESTS_SUPPORT_EXPORT_FARM_H
#define TESTS_SUPPORT_EXPORT_FARM_H

#include "schema/store/store.h"
#include "schema/store/store_queue.h"
#include "solvers/framework/space.h"

#define EXPORT_FARM_TARGET "cpu-znver4_2"
#define EXPORT_FARM_KEYS   3

/* The problems; number i was planned i + 1 times. */
extern const char *const export_farm_keys[EXPORT_FARM_KEYS];

struct export_farm {
    Store *store;
    struct target target;
    struct context context;
    int64_t campaign, worker;
    bool lose_kernels; /* code objects of the first problem never arrive */
};

/* Empties the scratch database. */
void export_farm_init(struct export_farm *farm);
/* With other problems. */
void export_farm_init_with(struct export_farm *farm, const char *const *keys, int count);
/* Takes all jobs through one round. Times depend on problem and solver alone. */
void export_farm_work(const struct export_farm *farm);
/* A worker for what campaigns ask, also to measure again, until nothing is claimable. A round of a search has the
 * default config and the next ones of the space, `configs` in all; it is the job's only one. measure gives a
 * config's time in ms, 0 where it is unstable. All verified configs of a round are kept, and no earlier ones. */
struct export_farm_worker {
    int configs;
    double spread, drift; /* of all of it */
    double (*measure)(void *data, const struct job *job, const struct perf_config *config);
    void *data;
};
void export_farm_serve(const struct export_farm *farm, const struct export_farm_worker *worker);
/* Drops the farm's campaign and makes another one, of the problems with these solvers: "" for all, else names
 * joined by commas. */
void export_farm_begin_anew(struct export_farm *farm, const char *const *keys, int count,
                            const char *solvers);
void export_farm_clear(struct export_farm *farm);

#endif
