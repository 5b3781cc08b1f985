/*
 * A campaign for tests of the way out: three problems with every solver that serves them on a CPU,
 * taken through one round as workers do it, each job at its default config, with made-up times and
 * code objects. Functions assert that they succeed.
 */
#ifndef TESTS_SUPPORT_EXPORT_FARM_H
#define TESTS_SUPPORT_EXPORT_FARM_H

#include "schema/store.h"
#include "solvers/space.h"

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
void export_farm_clear(struct export_farm *farm);

#endif
