/*
 * Fusing: a pointwise kernel becomes the epilogue of the kernel that computes its input. The two are then one problem,
 * tuned as it will run. An addition joins the kernel of that input which is computed last: by then the other input is
 * ready, as the residual.
 */
#ifndef COORDINATOR_NETWORK_PASSES_FUSE_H
#define COORDINATOR_NETWORK_PASSES_FUSE_H

#include "coordinator/network/passes/kernel_op.h"

enum fusion_level {
    FUSION_NONE,       /* each kernel by itself */
    FUSION_ACTIVATION, /* bias, scale and activation into convolutions: the heuristic that always pays */
    FUSION_ALL, /* also residuals, and into every kernel: chains of pointwise kernels become one */
};
#define FUSION_LEVEL_COUNT (FUSION_ALL + 1)

const char *fusion_level_name(enum fusion_level level); /* "none", "activation", "all" */
bool fusion_level_parse(const char *name, enum fusion_level *level);

/* Fuses the kernels of a lowered graph, and resolves it. Returns the number of kernels that are gone in *fused (may be
 * NULL). */
bool network_fuse(struct graph *graph, enum fusion_level level, int *fused, GError **error);

/* Joins x * sigmoid(x), x * hardsigmoid(x), x / 2 * (1 + erf(x / sqrt 2)), x * tanh(softplus(x)) and an addition with
 * clip(0, 6) into silu, hard-swish, gelu and mish, in a lowered graph. Returns how many it found. */
int network_match_activations(struct graph *graph);

#endif
