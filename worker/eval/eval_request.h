/*
 * An "evaluate" request (protocol.h) as a struct, checked: what is in it names
 * a problem, a solver and configs, and was not believed before.
 */
#ifndef WORKER_EVAL_REQUEST_H
#define WORKER_EVAL_REQUEST_H

#include <jansson.h>

#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"

struct eval_config {
    int index; /* the agent's name for it */
    struct perf_config config;
    int kernel_count;
    char kernels[SOLUTION_LAUNCHES_MAX][KERNEL_KEY_LENGTH + 1]; /* a launch each */
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
    double best_ms;  /* 0 for none */
    bool keep;       /* no config is dropped early as slow */
    double sample_seconds;
    char judge[KERNEL_KEY_LENGTH + 1]; /* key of the target's JUDGE_FILE; "": the host verifies */
};

/* WORKER_ERROR_FRAME for what breaks the protocol; WORKER_ERROR_INVALID for a problem or solver
 * that this program does not know. request->id is set in the latter case. */
bool eval_request_read(const json_t *head, struct eval_request *request, GError **error);
void eval_request_clear(struct eval_request *request);

/* What other requests have in common with it: a config with its "index", "values" and "kernels",
 * false where it has them not; a problem's key and a solver's name (WORKER_ERROR_INVALID). */
bool eval_config_read(const json_t *object, struct eval_config *config);
bool eval_work_find(const char *key, const char *name, struct problem *p,
                    const struct solver **solver, GError **error);

#endif
