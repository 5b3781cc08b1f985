/*
 * Random valid problems from a seeded generator, for round trips and for
 * comparing kernels with a reference.
 */
#ifndef TESTS_SUPPORT_RANDOM_PROBLEM_H
#define TESTS_SUPPORT_RANDOM_PROBLEM_H

#include "solvers/problem/problem.h"

/* Ranges of the random values. Masks have the bit 1 << value for each allowed enum value, at least
 * one. */
struct random_limits {
    int64_t max_batch, max_channels; /* max_channels: in a group */
    int64_t max_size, max_filter;    /* an axis */
    int64_t max_groups, max_pad, max_stride, max_dilation;
    unsigned directions; /* mask of enum direction */
    unsigned types; /* mask of enum data_type; INT8 comes with an INT32 output, and forward only */
    unsigned layouts;        /* mask of enum layout, which also decides between 2D and 3D */
    bool mixed_layouts;      /* each tensor may have another layout */
    bool mixed_types, casts; /* types per tensor and casts, which MIOpenDriver cannot express */
    bool
        tf32; /* convolutions whose tensors are all FP32 may be in TF32, which perf-db rows cannot say */
    bool bias;
    bool epilogues; /* any steps that fit the problem */
    bool strided;   /* tensors may be strided, and the residual may repeat its elements */
    bool outside;   /* the filter may reach past the padded input */
    unsigned kinds; /* mask of enum op_kind; kinds other than OP_CONV are forward, without groups */
};

/* Small problems that a CPU computes at once: FP32, NCHW, all directions, groups, strides, padding. */
void random_limits_small(struct random_limits *limits);
/* Every field and operator that a key can have, with numbers of several digits. */
void random_limits_wide(struct random_limits *limits);
/* Narrows limits to problems that MIOpen's keys and rows can name: packed convolutions without epilogue and TF32. */
void random_limits_nameable(struct random_limits *limits);

void random_problem(GRand *random, const struct random_limits *limits, struct problem *p);

/* Gives a tensor strides in the order of its layout, with gaps between the steps. The residual may repeat its elements. The
 * tensor stays as it is where it would be too large. */
void random_gaps(GRand *random, struct problem *p, enum tensor_role role);
/* Makes some of a convolution's x, w and y strided: by random_gaps(), or as a slice of the channels of a larger tensor, as
 * the parts of a concatenation are. Call it before the epilogue is set. */
void random_conv_strides(GRand *random, struct problem *p);
/* Gives the residual, if there is one, the strides of the output, in whose layout it must be. */
void random_residual_follows(struct problem *p);

#endif
