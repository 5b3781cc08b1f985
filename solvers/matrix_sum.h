/*
 * The launch that adds up what kernels of matrix units leave where their terms are split: parts that lie as the
 * packed result does, one behind the other at the workspace's start, in FP32 or INT32.
 */
#ifndef SOLVERS_MATRIX_SUM_H
#define SOLVERS_MATRIX_SUM_H

#include "solvers/solution.h"

/* Elements at the most: a workgroup has 64 of them where items share parts, and CUDA takes 2^31 - 1 workgroups; half
 * of what that comes to. */
#define MATRIX_SUM_MOST 0x1p36

/* `count` elements of the result, with channels that are filled up counted in, a multiple of 4, at most
 * MATRIX_SUM_MOST. Sets the solution's workspace to that of the parts. */
void matrix_add_sum(const struct problem *p, int64_t count, int splits, struct solution *solution);

#endif
