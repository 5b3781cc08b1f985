/*
 * A convolution problem worked out in double precision, and tensors in any
 * layout and type made from plain arrays: what tests hold kernels against.
 * Plain arrays are dense, in the order N C D H W (K C D H W for w, where C is
 * a group's channels), without what blocked layouts add.
 */
#ifndef TESTS_SUPPORT_CONV_REFERENCE_H
#define TESTS_SUPPORT_CONV_REFERENCE_H

#include "solvers/problem/problem.h"

/* Sizes of a tensor's plain array. Returns their product. */
int64_t conv_plain_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[5]);

/* Computes the output of p's direction from the other two plain arrays, plain[] by role; the
 * output's own array is overwritten. magnitude[] (as long) gets the sum of the products' absolute
 * values, and the result is how many products the longest sum has. */
int64_t conv_reference(const struct problem *p, double *const plain[TENSOR_COUNT],
                       double *magnitude);

/* One element of a stored tensor, by its place in the plain array. Storing rounds to nearest. */
void conv_store(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                void *data, int64_t index, double value);
double conv_load(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                 const void *data, int64_t index);
/* One element's bytes from one buffer to the same place of another. */
void conv_copy(const struct problem *p, enum tensor_role role, const int64_t strides[5],
               const void *from, void *to, int64_t index);

/* Relative size of a type's last place: 2^-23 for FP32, 0 for whole numbers. */
double conv_type_epsilon(enum data_type type);

/* A small random plain forward problem (2D FP32 NCHW): padding, strides, dilation, groups, one to
 * two images, sizes that divide nothing. */
void conv_random_problem(GRand *random, struct problem *p);

#endif
