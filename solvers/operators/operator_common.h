/*
 * Functions that the solvers of operators other than convolutions share: the division of an output into pieces
 * (kernels/device/operators/pieces.h), the space of its configs, and the parts of a launch that follow from both. Pure
 * functions.
 */
#ifndef SOLVERS_OPERATORS_OPERATOR_COMMON_H
#define SOLVERS_OPERATORS_OPERATOR_COMMON_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"
#include "solvers/problem/problem.h"

#define OPERATOR_AXES 5

/* Logical axes, in the order of strides and sizes of problem.h. */
enum { OPERATOR_N, OPERATOR_C, OPERATOR_D, OPERATOR_H, OPERATOR_W };

/* The output's axes as a kernel walks them, the innermost last. */
struct operator_axes {
    int count;
    int logical[OPERATOR_AXES]; /* the axis of problem.h, or -1 for several that were merged */
    int64_t size[OPERATOR_AXES];
    /* of x, y and the second tensor; 0 for a tensor that the problem lacks */
    int64_t stride[STRIDED_COUNT][OPERATOR_AXES];
};

/* Sets the axes in the order of y's layout, without D in 2D. */
void operator_axes_init(const struct problem *p, struct operator_axes *axes);
/* Takes an axis out. If no axis would be left, one axis of one element stays. */
void operator_axes_drop(struct operator_axes *axes, int logical);
/* Drops axes of one element, and merges neighbouring axes wherever each tensor lies as one axis would. The channels stay
 * an axis of their own where the epilogue reads a value for each. */
void operator_axes_merge(const struct problem *p, struct operator_axes *axes);

/* Whether kernels/device/operators/ knows the types, and does the epilogue. Otherwise *reason says so. */
bool operator_types_are_served(const struct problem *p, const char **reason);
/* Whether all sizes fit a kernel's int, and the output has fewer than 2^32 elements, each of which may be a work-item. */
bool operator_count_is_served(const struct problem *p, const char **reason);
/* Whether x, y and the second tensor have layouts without blocks of channels. */
bool operator_layouts_are_plain(const struct problem *p, const char **reason);

/* The parameters of a config of pieces; other solvers' spaces may begin with them. */
enum operator_param { OPERATOR_ITEMS, OPERATOR_VECTOR, OPERATOR_PIECES, OPERATOR_PARAM_COUNT };
/* ITEMS, VECTOR, PIECES for the axes that the solvers of the problem's kind walk. */
extern const struct space operator_space;
void operator_default_config(const struct problem *p, const struct context *context,
                             struct perf_config *config);
/* The axes that solvers of pieces walk: those of y, merged for pointwise operators and softmax, whose axes lack the
 * channels. */
void operator_piece_axes(const struct problem *p, struct operator_axes *axes);

/* Whether neighbouring channels are neighbours in x and y. */
bool operator_channels_are_near(const struct problem *p);

/* A launch of pieces while it is made. */
struct operator_launch {
    struct launch *launch;
    const struct problem *p;
    struct operator_axes axes;
    int items, vector, pieces;
    bool at_run_time; /* strides are arguments that are known when it runs: the naive form */
};

/* Begins a launch with the config's numbers, or with `values` NULL in the naive form: an element for each work-item, and
 * every stride known when it runs. Adds x, y and the pieces' options and arguments. */
void operator_begin(struct operator_launch *making, struct solution *solution, const char *file,
                    const char *entry, const struct problem *p, const struct operator_axes *axes,
                    const int32_t *values);
/* Add a tensor's strides as arguments: along the pieces' five axes, or along N C D H W, or along one. */
void operator_add_axis_strides(struct operator_launch *making, enum tensor_role role);
void operator_add_logical_strides(struct operator_launch *making, enum tensor_role role);
void operator_add_stride(struct operator_launch *making, enum tensor_role role, int logical);
/* Adds in[] as arguments, or out[]. */
void operator_add_sizes(struct operator_launch *making, const int64_t sizes[AXIS_COUNT]);
/* Whether the last axis is W, so that neighbours in a piece are neighbours in a row. */
bool operator_lanes_are_w(const struct operator_axes *axes);
/* Adds the epilogue, sorts the options and sets the grid. */
void operator_end(struct operator_launch *making);

/* Sets operations and compulsory bytes: `operations` for each output element, and one for each step of the epilogue. */
void operator_set_work(const struct problem *p, double operations, struct solution *solution);

double operator_naive_estimate(const struct problem *p, const struct context *context);
void operator_naive_config(const struct problem *p, const struct context *context,
                           struct perf_config *config);

#endif
