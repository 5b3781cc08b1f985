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

/* Runs the plan. Signals are passed on to the worker; *caught is the one that ended it, or 0. COORDINATOR_ERROR_PROCESS
 * has the worker's message. Clear *executed after failure, too. */
bool execute_plan(const struct execution *execution, struct executed *executed, int *caught,
                  GError **error);
/* Runs several plans, which are in the device's memory at once, and times them in turns: the answers are those of
 * "pipelines". Each plan takes sample_seconds of device time; the sample_seconds of the executions are not used.
 * executed: one for each; *no_room: NULL, or why they had to be run one by one; free with g_free(). Clear all *executed
 * after failure, too. */
bool execute_plans(const struct execution *executions, int count, double sample_seconds,
                   struct executed *executed, char **no_room, int *caught, GError **error);
void executed_clear(struct executed *executed);

/* Returns the choice for a problem that was not tuned: the solver with the best estimate, with its default config. NULL
 * if no solver serves the problem. Free with choice_free(). */
struct choice *choice_by_estimate(const struct problem *problem, const struct target *target);
/* Estimates the problem's time with that solver, from the solver's estimate and the most that the target can compute
 * and move. INFINITY if no solver serves the problem. It serves to compare layouts of a layer with copies between
 * layers. It is the same on each call, so that a network is planned in the same way when it is run later. */
double estimated_ms(const struct problem *problem, const struct target *target);
/* Returns the choice of this solver and config; NULL with an error if they do not fit the problem. */
struct choice *choice_pinned(const struct problem *problem, const struct target *target,
                             const char *solver, const char *config, int64_t workspace_bytes,
                             GError **error);

#endif
