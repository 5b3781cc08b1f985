/*
 * An "evaluate" request (protocol.h) as a struct. Reading it checks everything that the agent sent.
 */
#ifndef WORKER_EVAL_EVAL_REQUEST_H
#define WORKER_EVAL_EVAL_REQUEST_H

#include <jansson.h>

#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"

struct eval_config {
    int index; /* the config's index in the agent's round, used in answers */
    struct perf_config config;
    const struct solver *solver; /* that makes its solution; NULL: the request's */
    int kernel_count;
    /* Keys of the kernels, one for each launch, in order. */
    char kernels[SOLUTION_LAUNCHES_MAX][KERNEL_KEY_LENGTH + 1];
    bool only_verify; /* it gets no times, since equal code was timed */
};

struct eval_request {
    json_int_t id;
    struct problem problem;
    const struct solver *solver;
    struct target target;
    struct context_limits limits;
    uint64_t seed;
    GArray *configs; /* struct eval_config */
    int baseline;    /* place of the default config in configs, -1 for none */
    double best_ms;  /* of the problem's fastest config so far, whichever job tried it; 0: none */
    /* Runs that are compared of every config that is right and has a time (proof.h); 0: only the fastest is
     * proved, at the end. */
    int proof_runs;
    bool keep; /* no config is dropped early as slow */
    double sample_seconds;
    /* Over 0: the configs are measured in turns, in this device time for all of them (measure/together.h). */
    double together_seconds;
    /* Kernel key of the target's JUDGE_FILE; "": the host verifies. */
    char judge[KERNEL_KEY_LENGTH + 1];
};

/* Reads a request from its JSON. WORKER_ERROR_FRAME if it breaks the protocol;
 * WORKER_ERROR_INVALID for an unknown problem or solver: request->id is then set, so that the
 * request can be answered. */
bool eval_request_read(const json_t *head, struct eval_request *request, GError **error);
void eval_request_clear(struct eval_request *request);

/* Readers that "cold" requests use, too: of a config's "index", "values" and "kernels" (false if
 * one is missing or wrong); and of a problem by its key with a solver by its name
 * (WORKER_ERROR_INVALID if one is unknown). */
bool eval_config_read(const json_t *object, struct eval_config *config);
bool eval_work_find(const char *key, const char *name, struct problem *p,
                    const struct solver **solver, GError **error);

#endif
