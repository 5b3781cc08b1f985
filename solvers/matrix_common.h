/*
 * What solvers of matrix units ask about a problem (conv_matrix.c, conv_wgmma.c): all tensors packed, NHWC, of
 * one type, FP16 or BF16, the channels of a group in eights; and the matrix product that it is.
 */
#ifndef SOLVERS_MATRIX_COMMON_H
#define SOLVERS_MATRIX_COMMON_H

#include "solvers/solution.h"
#include "solvers/space.h"

#define MATRIX_ELEMENT_BYTES 2
#define MATRIX_GRID_MOST     65535 /* what a grid's second and third axis have on every GPU */
#define MATRIX_SMALLEST      64    /* a block's rows and columns at the least */

/* Rows, columns and terms of a layer of the grid, and layers: groups, in W also filter positions. */
struct matrix_product {
    double rows, columns, terms, layers;
};
struct matrix_product matrix_product_of(const struct problem *p);
double matrix_taps(const struct problem *p);

/* Otherwise *reason says why not. It is for the solver to say which targets have its instructions. */
bool matrix_serves(const struct problem *p, const char **reason);

/* No more than twice what there is, but for the smallest. */
bool matrix_block_suits(const struct problem *p, int block_m, int block_n);
/* Blocks that hold so many; and workgroups of one part. */
double matrix_blocks(double count, int block);
double matrix_workgroups(const struct problem *p, int block_m, int block_n);

/* 16 counts, 32-bit: n, c and k of a group, groups; then in, out, fil, pad, stride and dilation, h and w. */
void matrix_add_shape(const struct problem *p, struct launch *launch);

#endif
