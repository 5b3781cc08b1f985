/*
 * What kernels of matrix units leave where their terms are split, and the launch that adds it up: parts that lie as
 * the packed result does, one behind the other at the workspace's start, in FP32 or INT32.
 */
#ifndef SOLVERS_COMMON_MATRIX_SUM_H
#define SOLVERS_COMMON_MATRIX_SUM_H

#include "solvers/framework/solution.h"

/* Elements at the most: a workgroup has 64 of them where items share parts, and CUDA takes 2^31 - 1 workgroups; half
 * of what that comes to. */
#define MATRIX_SUM_MOST 0x1p36

/* Sums of so many terms keep within half of what their last places may be off: matrix units cut what they add, so
 * that errors all go one way. */
#define MATRIX_TERMS_MOST  32768
#define MATRIX_SPLITS_MOST 256
#define MATRIX_SPLITS_VALUES                                                                       \
    9, (const int32_t[])                                                                           \
    {                                                                                              \
        1, 2, 4, 8, 16, 32, 64, 128, MATRIX_SPLITS_MOST                                            \
    }

/* Whether sums of so many terms are short enough in so many parts; and the fewest parts where they are, or the most
 * that there may be. */
bool matrix_parts_are_short(double terms, int splits);
int matrix_least_splits(double terms);

/* `count` elements of the result, with channels that are filled up counted in, a multiple of 4, at most
 * MATRIX_SUM_MOST. Sets the solution's workspace to that of the parts. */
void matrix_add_sum(const struct problem *p, int64_t count, int splits, struct solution *solution);

#endif
