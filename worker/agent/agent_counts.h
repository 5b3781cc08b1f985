/*
 * Counts of the agent's work since it began; they only grow, and only on the loop. agent_metrics.c serves them to
 * Prometheus, and heartbeats carry them to the database, which computes the farm's rates from them.
 */
#ifndef WORKER_AGENT_AGENT_COUNTS_H
#define WORKER_AGENT_AGENT_COUNTS_H

#include "schema/store/failure.h"
#include "schema/store/store.h"
#include "worker/child/child.h"

struct agent_counts {
    /* Jobs claimed, stored, given back and refused by the database, by enum pool. */
    uint64_t claimed[2], stored[2], released[2], refused[2];
    uint64_t jobs_ended;             /* jobs that became done or failed by this agent's calls */
    uint64_t configs[FAILURE_COUNT]; /* by outcome */
    uint64_t kernels[FAILURE_COUNT]; /* kernels compiled by this agent's children, by result */
    double compile_seconds, eval_seconds;
    double busy_seconds; /* time of evaluating jobs in which its GPUs had work */
    uint64_t child_ends
        [2][CHILD_ENDS]; /* deaths of build and eval children that the agent did not ask for */
    uint64_t quarantined, heartbeats;
};

#endif
