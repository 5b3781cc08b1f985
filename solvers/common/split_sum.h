/*
 * Split-K: the terms of a matrix product are divided into parts, each part is summed by workgroups of its own into the
 * workspace, and a second launch (conv_sum_splits.cl) adds up the parts. It gives work to more units where a product has
 * few rows and columns and many terms, as the gradient of weights has. Parts are FP32 and packed, one behind the other.
 */
#ifndef SOLVERS_COMMON_SPLIT_SUM_H
#define SOLVERS_COMMON_SPLIT_SUM_H

#include "solvers/framework/solution.h"

/* split_sum_part_bytes(): bytes of one part of w's sums. split_sum_bytes(): bytes of `splits` parts; 0 for a sum that
 * is not split. */
uint64_t split_sum_part_bytes(const struct problem *p);
uint64_t split_sum_bytes(const struct problem *p, int splits);

/* Adds the launch that adds up the parts of w, which begin at this offset of the workspace. */
void split_sum_add(const struct problem *p, uint64_t offset_bytes, int splits,
                   struct solution *solution);
/* split_sum_add() for the output of F or B, whose parts have its layout: channels innermost, or planes. The output may be
 * strided; the solution is then for the problem's own strides. */
void split_sum_add_output(const struct problem *p, uint64_t offset_bytes, int splits,
                          struct solution *solution);

#endif
