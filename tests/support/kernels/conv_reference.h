/* Computes a convolution problem in double precision, and stores plain arrays as tensors of any
 * layout and type: the reference that tests compare kernels with. Plain arrays are dense, in the
 * order N C D H W (K C D H W for w, where C counts a group's channels), without the padding of
 * blocked layouts. */
#ifndef TESTS_SUPPORT_KERNELS_CONV_REFERENCE_H
#define TESTS_SUPPORT_KERNELS_CONV_REFERENCE_H

#include "solvers/problem/problem.h"

/* sizes[] gets the sizes of an operand's plain array. Returns their product, 0 for an operand that
 * the problem lacks. */
int64_t conv_plain_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[5]);

/* The number of a code of FP8, BF8 or one of their FNUZ forms, and the code of the number that is nearest to a value, the
 * even one at a tie; beyond the largest number the largest. Found by trying all codes. */
double float8_number(enum data_type type, guint8 code);
guint8 float8_nearest(enum data_type type, double value);

/* Computes the output of p's direction, before its epilogue, from the other two plain arrays
 * (plain[] by role), which are rounded first where they are cast; the output's own array is overwritten. magnitude[], of the output's length,
 * gets the sum of the absolute products of each element. Returns the number of products of the
 * longest sum. */
int64_t conv_reference(const struct problem *p, double *const plain[TENSOR_COUNT],
                       double *magnitude);

/* Writes or reads one element of a stored tensor; `index` is its place in the plain array. Writing
 * rounds to nearest. */
void conv_store(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                void *data, int64_t index, double value);
double conv_load(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                 const void *data, int64_t index);
/* Copies one element's bytes from one buffer to the same place of another buffer. */
void conv_copy(const struct problem *p, enum tensor_role role, const int64_t strides[5],
               const void *from, void *to, int64_t index);

/* The relative size of a type's last place: 2^-23 for FP32; 0 for integers. */
double conv_type_epsilon(enum data_type type);

/* A small random forward problem (2D, FP32, NCHW) with padding, strides, dilation, groups and one
 * or two images; its sizes have few common divisors with tiles. */
void conv_random_problem(GRand *random, struct problem *p);

#endif
