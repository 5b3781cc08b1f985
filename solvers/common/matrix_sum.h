/*
 * Split-K of kernels for matrix units: the launch (conv_matrix_sum.cl) that adds up the parts of a result.
 * Parts have the packed result's layout, one behind the other from the workspace's start, in FP32 or INT32.
 */
#ifndef SOLVERS_COMMON_MATRIX_SUM_H
#define SOLVERS_COMMON_MATRIX_SUM_H

#include "solvers/framework/solution.h"

/* The most elements of a result. A workgroup adds up 64 elements where work-items share parts, and CUDA allows 2^31 -
 * 1 workgroups; this is half of their product. */
#define MATRIX_SUM_MOST 0x1p36

/* The most terms in one sum. Matrix units truncate what they add, so that all errors have one sign; up to this
 * many terms the error stays within half of the tolerance. */
#define MATRIX_TERMS_MOST  32768
#define MATRIX_SPLITS_MOST 256
#define MATRIX_SPLITS_VALUES                                                                       \
    9, (const int32_t[])                                                                           \
    {                                                                                              \
        1, 2, 4, 8, 16, 32, 64, 128, MATRIX_SPLITS_MOST                                            \
    }

/* matrix_parts_are_short(): whether `splits` parts keep each sum within MATRIX_TERMS_MOST terms. matrix_least_splits():
 * the fewest parts that do so, or the most parts allowed where none do. */
bool matrix_parts_are_short(double terms, int splits);
int matrix_least_splits(double terms);

/* Adds the launch for a result of `count` elements, padding channels included: a multiple of 4, at most
 * MATRIX_SUM_MOST. Sets the solution's workspace to the bytes of the split-K parts. The launch also does the problem's
 * epilogue, for which the result must have channels innermost, with as many in each group. */
void matrix_add_sum(const struct problem *p, int64_t count, int splits, struct solution *solution);
/* The same where the result's rows, positions of so many elements in F and B, are `pitch` elements apart; 0: they follow
 * each other. */
void matrix_add_pitched_sum(const struct problem *p, int64_t count, int splits, int64_t pitch,
                            struct solution *solution);
/* The most additions that a part goes through in that launch. */
int matrix_sum_depth(int splits);

#endif
