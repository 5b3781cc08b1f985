/*
 * What solvers serve, found by asking them: each is tried on systematic
 * problems (all directions, layouts and types; filters, groups, stride and
 * dilation varied; AMD, NVIDIA and CPU targets), so a table of claims never
 * says what the solver does not do. Pure.
 */
#ifndef SOLVERS_FRAMEWORK_SOLVER_CLAIMS_H
#define SOLVERS_FRAMEWORK_SOLVER_CLAIMS_H

#include "solvers/framework/solver.h"

/* How a problem may differ from the plainest one that a solver serves. */
enum solver_feature {
    FEATURE_PLAIN, /* one group, no stride or dilation */
    FEATURE_STRIDE,
    FEATURE_DILATION,
    FEATURE_GROUPS, /* of several channels */
    FEATURE_DEPTHWISE,
    FEATURE_MIXED_LAYOUTS,
    FEATURE_MIXED_TYPES,
};
#define FEATURE_COUNT (FEATURE_MIXED_TYPES + 1)

/* Filters that are tried, by the size of their axes. */
#define CLAIM_FILTER_COUNT 6
extern const int claim_filters[CLAIM_FILTER_COUNT];

/* Sets of directions are bits of 1 << enum direction, sets of vendors of 1 << enum vendor. */
struct solver_claims {
    unsigned directions, vendors;
    unsigned served[LAYOUT_COUNT][DATA_TYPE_COUNT]; /* directions, all tensors in that layout and
                                                     * type; INT8 stands for INT8 to INT32 */
    unsigned features[FEATURE_COUNT];               /* directions in which it serves them */
    unsigned looked_at[LAYOUT_COUNT];               /* directions in which spaces were walked */
    unsigned filters;                               /* bit i: claim_filters[i] */
    bool many_channels;                             /* not those of an image alone */
    int64_t most_configs;                           /* of a probe; 0: cannot be tuned */
    int least_launches, most_launches;
    bool with_workspace, without_workspace; /* some solution needs one; some needs none */
};

void solver_claims_find(const struct solver *solver, struct solver_claims *claims);

/* A row a solver, in Markdown. Free with g_free(). */
char *solver_claims_table(const struct solver *const *solvers, int count);

#endif
