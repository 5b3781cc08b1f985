/*
 * Tunes the problems of a plan on this machine, as `skipjack tune` does, and finds the best config of each. Problems that
 * any earlier campaign tuned under the same solvers and stack are taken over, so combinations share what is equal.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_TUNING_H
#define COORDINATOR_NETWORK_AUTOTUNE_TUNING_H

#include "coordinator/campaigns/request.h"
#include "coordinator/process/machine.h"
#include "coordinator/tune/supervise.h"

/* How a problem is solved. */
struct choice {
    struct problem problem;
    char *solver, *config;
    int revision;
    int64_t workspace_bytes;
    double median_ms, spread; /* 0 if it was not measured alone */
    bool is_estimated;        /* by choice_by_estimate() */
    bool is_exchanged;        /* it won for another step, and was quicker here */
};

struct choice *choice_copy(const struct choice *choice);
void choice_free(struct choice *choice); /* NULL is allowed */

struct tuning {
    Store *store;
    struct machine machine;
    const struct request *base; /* limits, configs, budget, strategy; the caller's */
    const char *log;            /* path of the workers' log; the caller's */
    GHashTable *choices;        /* struct problem * -> struct choice *; the best known so far */
};

/* Opens the database and identifies this machine. Clear it after failure, too. */
bool tuning_open(struct tuning *tuning, const struct request *base, const char *log,
                 GError **error);
void tuning_clear(struct tuning *tuning);

/* Tunes those of the problems (struct plan_problem) that have no choice yet, in a campaign of this name, and adds the best
 * of each to the choices. A problem that nothing serves, or whose every config failed, stays without a choice. */
enum supervise_end tuning_run(struct tuning *tuning, const char *name, const GArray *problems,
                              GError **error);
/* Returns the problem's choice, NULL for a problem without one. */
const struct choice *tuning_choice(const struct tuning *tuning, const struct problem *problem);

#endif
