/*
 * The problems that the solvers serve, found by asking each of them about systematic problems (all directions,
 * layouts and types; varied filters, groups, stride and dilation) on AMD, NVIDIA and CPU targets. A table made
 * from the answers claims nothing that the solver does not do. Pure.
 */
#ifndef SOLVERS_FRAMEWORK_SOLVER_CLAIMS_H
#define SOLVERS_FRAMEWORK_SOLVER_CLAIMS_H

#include "solvers/framework/solver.h"

/* The ways in which a problem may differ from the plainest problem that a solver serves. */
enum solver_feature {
    FEATURE_PLAIN, /* the plainest problem: one group, no stride or dilation */
    FEATURE_STRIDE,
    FEATURE_DILATION,
    FEATURE_GROUPS, /* several groups, each of several channels */
    FEATURE_DEPTHWISE,
    FEATURE_MIXED_LAYOUTS,
    FEATURE_MIXED_TYPES,
};
#define FEATURE_COUNT (FEATURE_MIXED_TYPES + 1)

/* Filter sizes that are tried, in elements of each axis. */
#define CLAIM_FILTER_COUNT 6
extern const int claim_filters[CLAIM_FILTER_COUNT];

/* Directions are bits 1 << enum direction, vendors are bits 1 << enum vendor. */
struct solver_claims {
    unsigned directions, vendors;
    /* directions served with all tensors of this layout and type; INT8 means INT8 to INT32 */
    unsigned served[LAYOUT_COUNT][DATA_TYPE_COUNT];
    unsigned
        tf32; /* directions computed in TF32 where the problem permits it; not those served in full FP32 alone */
    unsigned features[FEATURE_COUNT]; /* bits of the directions in which each feature is served */
    /* bits of the directions in which a layout's spaces were counted */
    unsigned looked_at[LAYOUT_COUNT];
    unsigned filters;   /* bit i: claim_filters[i] is served */
    bool many_channels; /* serves many input channels, not only the few channels of a picture */
    /* largest space among the problems tried; 0 for a solver that cannot be tuned */
    int64_t most_configs;
    int least_launches, most_launches;
    /* whether some solution uses a workspace; whether some solution uses none */
    bool with_workspace, without_workspace;
};

void solver_claims_find(const struct solver *solver, struct solver_claims *claims);

/* A Markdown table with a row for each solver. Free with g_free(). */
char *solver_claims_table(const struct solver *const *solvers, int count);

#endif
