/*
 * Graph to plan: each kernel becomes a step, each movement a place inside another buffer or a copy. The functions of
 * passes/ have lowered, fused and cast the graph and chosen its layouts before.
 */
#ifndef COORDINATOR_NETWORK_PLAN_PLAN_BUILDER_H
#define COORDINATOR_NETWORK_PLAN_PLAN_BUILDER_H

#include "coordinator/network/graph.h"
#include "coordinator/network/plan/network_plan.h"
#include "solvers/framework/target.h"

struct plan_options {
    const char *network; /* NULL: the graph's name */
    /* Returns whether a device can do the problem; NULL: it can do all. Where it cannot, the builder tries packed
     * copies of the operands and of the output. plan_target_serves() asks the solver table. */
    bool (*serves)(const struct problem *problem, void *context);
    void *context;
    /* Whether joined tensors are written into their common buffer, and parts are read where they are, by kernels that
     * take the strides; otherwise all are copied. */
    bool in_place;
    /* Whether convolutions of FP32 tensors may be computed in TF32 (plan_permit_tf32()). */
    bool tf32;
    /* Whether the model had no weights: they were generated from this seed. */
    bool weights_are_generated;
    guint64 seed;
};

/* Makes the plan of a resolved and lowered graph. NULL with NETWORK_ERROR_PENDING for a graph that is not resolved, and
 * NETWORK_ERROR_UNSUPPORTED with the node's name for a node that no step can do. */
struct network_plan *plan_build(struct graph *graph, const struct plan_options *options,
                                GError **error);

/* Permits TF32 for a convolution whose tensors are FP32 and are not cast; other problems stay as they are. */
void plan_permit_tf32(struct problem *problem);

/* A function for struct plan_options: whether a solver of the table serves the problem on a target (context: const
 * struct target *). */
bool plan_target_serves(const struct problem *problem, void *target);

#endif
