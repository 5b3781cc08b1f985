/*
 * Random valid problems from a seeded generator, for round trips and for
 * comparing kernels with a reference.
 */
#ifndef TESTS_SUPPORT_RANDOM_PROBLEM_H
#define TESTS_SUPPORT_RANDOM_PROBLEM_H

#include "solvers/problem/problem.h"

/* What may come. Masks are bits of 1 << the enum's value; each needs at least one bit. */
struct random_limits {
    int64_t max_batch, max_channels; /* channels of one group */
    int64_t max_size, max_filter;    /* an axis */
    int64_t max_groups, max_pad, max_stride, max_dilation;
    unsigned directions;     /* of enum direction */
    unsigned types;          /* of enum data_type; INT8 comes with an INT32 output, F only */
    unsigned layouts;        /* of enum layout; they also decide between 2D and 3D */
    bool mixed_layouts;      /* each tensor a layout of its own */
    bool mixed_types, casts; /* beyond what MIOpenDriver can say */
    bool bias, epilogues;
    bool outside; /* also filters that reach past the padded input */
};

/* Small problems that a CPU computes at once: FP32, NCHW, all directions, groups, strides, padding. */
void random_limits_small(struct random_limits *limits);
/* Everything that a key can say, with numbers of several digits. */
void random_limits_wide(struct random_limits *limits);

void random_problem(GRand *random, const struct random_limits *limits, struct problem *p);

#endif
