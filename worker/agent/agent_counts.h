/*
 * What an agent has done since it began: only ever counted up, on the loop.
 * agent_metrics.c tells it to Prometheus, and beats carry it to the database,
 * where the farm's rates come from.
 */
#ifndef WORKER_AGENT_COUNTS_H
#define WORKER_AGENT_COUNTS_H

#include "schema/store/failure.h"
#include "schema/store/store.h"
#include "worker/child/child.h"

struct agent_counts {
    uint64_t claimed[2], stored[2], released[2], refused[2]; /* jobs, by enum pool */
    uint64_t jobs_ended;             /* done or failed, as far as it knows */
    uint64_t configs[FAILURE_COUNT]; /* by outcome */
    uint64_t kernels[FAILURE_COUNT]; /* compiled here, by result */
    double compile_seconds, eval_seconds;
    double busy_seconds;                /* of GPUs, evaluating */
    uint64_t child_ends[2][CHILD_ENDS]; /* unasked; of build and eval children */
    uint64_t quarantined, heartbeats;
};

#endif
