/*
 * What solvers of NVIDIA's matrix units share (conv_matrix.c, conv_wgmma.c): which problems their kernels serve (all
 * tensors packed, of FP16 or BF16, or forward of INT8 with an INT32 result, NHWC and the channels of a group in chunks of 16 bytes; others are moved,
 * matrix_transform.h), the matrix product that such a problem is (kernels/device/matrix_nvidia/matrix_nhwc.h), how its terms are split, and the launches.
 */
#ifndef SOLVERS_MATRIX_NVIDIA_MATRIX_COMMON_H
#define SOLVERS_MATRIX_NVIDIA_MATRIX_COMMON_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"

#define MATRIX_ELEMENT_BYTES 2  /* INT8 goes in pairs */
#define MATRIX_SMALLEST      64 /* a block's rows and columns at the least */
#define MATRIX_PLACE_BYTES   16 /* of each place that W notes, of two blocks of terms */

/* Rows, columns and terms of a layer of the grid, and layers: groups, in B also phases. */
struct matrix_product {
    double rows, columns, terms, layers;
};
struct matrix_product matrix_product_of(const struct problem *p);

/* Otherwise *reason says why not. It is for the solver to say which targets have its instructions. */
bool matrix_serves(const struct problem *p, const struct context *context, const char **reason);

/* Channels of a group with those that fill up its last chunk of 16 bytes; of x and w as elements of 16 bits. */
int64_t matrix_c_of(const struct problem *p);
int64_t matrix_k_of(const struct problem *p);

/* How a config divides the product. */
struct matrix_blocks {
    int m, n, k, splits;
};

/* No more rows and columns than twice what there is, but for the smallest. */
bool matrix_block_suits(const struct problem *p, const struct matrix_blocks *blocks);
/* The share of the work that is not on what is filled up or moved, roughly. */
double matrix_used_part(const struct problem *p, const struct matrix_blocks *blocks);
/* Workgroups of one part; and blocks of terms of the longest part. */
double matrix_workgroups(const struct problem *p, const struct matrix_blocks *blocks);
double matrix_steps(const struct problem *p, const struct matrix_blocks *blocks);

/* Terms are split where there are too few workgroups for the units, and where sums of FP32 would be too long. */
bool matrix_splits_suit(const struct problem *p, const struct context *context,
                        const struct matrix_blocks *blocks);
int matrix_default_splits(const struct problem *p, const struct context *context,
                          const struct matrix_blocks *blocks);
/* How a product goes over a target: workgroups of all parts, blocks of terms of each, cycles that one takes to begin
 * and to end beside its stores, and the bytes of parts that are added up. */
struct matrix_effort {
    double workgroups, steps, start, parts_bytes;
};
/* Cycles that the slowest unit of an H100 takes, roughly. */
double matrix_cycles(const struct context *context, const struct matrix_blocks *blocks,
                     const struct matrix_effort *effort);
/* The candidate with its best splits becomes *best where its blocks suit and it should take fewer cycles than
 * *least, which then says how many. Returns whether it did. */
bool matrix_choose(const struct problem *p, const struct context *context,
                   const struct matrix_blocks *candidate, struct matrix_blocks *best,
                   double *least);
/* Of the result with whole loads of channels: what lies before a part's end. */
double matrix_result_elements(const struct problem *p);
/* The most that configs of blocks no larger than these have. */
uint64_t matrix_workspace_bytes(const struct problem *p, const struct context *context,
                                const struct matrix_blocks *largest);

/* Adds to a launch that has its file and its own options: the other options, in order, all arguments and the
 * grid; and more launches where parts are to be added up or tensors moved. */
void matrix_finish_launch(const struct problem *p, const struct matrix_blocks *blocks, int items,
                          struct launch *launch);
void matrix_finish_solution(const struct problem *p, const struct matrix_blocks *blocks,
                            struct solution *solution);
/* Two arguments, with which a kernel divides numbers below 2^31 (matrix_nvidia.h's struct divisor). */
void matrix_add_divisor(struct launch *launch, int64_t by);

#endif
