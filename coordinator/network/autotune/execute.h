/*
 * Runs a plan on this machine's device: `skipjack worker --pipeline` in a process of its own, since only workers open
 * devices.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_EXECUTE_H
#define COORDINATOR_NETWORK_AUTOTUNE_EXECUTE_H

#include "coordinator/network/autotune/tuning.h"
#include "coordinator/network/plan/network_plan.h"

#include <jansson.h>

struct execution {
    const struct network_plan *plan;
    const struct choice *const *choices; /* one for each step */
    const float *inputs;                 /* samples of all inputs, as PLAN.md says */
    int64_t input_count;
    double sample_seconds; /* device time for the readings; 0: the outputs alone */
};

struct executed {
    json_t *answer; /* what the worker printed (worker/protocol/protocol.h, "pipeline") */
    float *outputs; /* of all outputs */
    int64_t output_count;
};

/* Runs it. Signals are passed on to the worker; *caught is the one that ended it, or 0. COORDINATOR_ERROR_PROCESS has the
 * worker's own words. Clear *executed after failure, too. */
bool execute_plan(const struct execution *execution, struct executed *executed, int *caught,
                  GError **error);
/* Runs several, which are in the device's memory at once, and times them in turns: the answers are those of "pipelines".
 * Each takes sample_seconds of device time, and that of its own execution is not used. executed: one for each;
 * *no_room: NULL, or why they had to be run one by one; free with g_free(). Clear all *executed after failure, too. */
bool execute_plans(const struct execution *executions, int count, double sample_seconds,
                   struct executed *executed, char **no_room, int *caught, GError **error);
void executed_clear(struct executed *executed);

/* How a problem is solved where nothing was tuned: the solver with the best estimate, with its default config. NULL where
 * none serves it. Free with choice_free(). */
struct choice *choice_by_estimate(const struct problem *problem, const struct target *target);
/* About how long the problem takes with that solver: by its estimate, and what the target computes and moves at best.
 * INFINITY where none serves it. To compare layouts of one layer with copies between layers; the same on each call, so that a
 * network is planned in the same way when it is run later. */
double estimated_ms(const struct problem *problem, const struct target *target);
/* The choice that a solver and a config's text make; NULL with an error if they do not fit the problem. */
struct choice *choice_pinned(const struct problem *problem, const struct target *target,
                             const char *solver, const char *config, int64_t workspace_bytes,
                             GError **error);

#endif
