/*
 * How ConvTma divides a convolution into boxes of up to 64 positions, and the matrix product into tiles
 * (kernels/device/matrix_nvidia/tma_work.h).
 *
 * A box is a cuboid of neighbouring positions of several images, planes of depth, rows and columns. Hopper's copy engine (TMA)
 * copies the input elements under one filter position for a whole box by a single instruction, with zeros
 * outside the tensor, so that no work-item computes addresses. Boxes should fill their 64 positions and have
 * long rows. See NVIDIA's CUDA Programming Guide, "Tensor Memory Access".
 */
#ifndef SOLVERS_MATRIX_NVIDIA_TMA_BOXES_H
#define SOLVERS_MATRIX_NVIDIA_TMA_BOXES_H

#include "solvers/problem/problem.h"

#define TMA_BOX_MOST 64 /* positions */

/* The boxes over y's positions; in B over the positions of x in one phase of the stride. For a 1x1 filter without
 * padding and stride all positions form a single row, because neighbours in memory are then neighbours in the
 * product. A problem that conv_flatten() makes one of two dimensions is divided as such. */
struct tma_boxes {
    /* sizes of the tensors as the kernel gets them, which differ where positions form a single row */
    int64_t n, in[AXIS_COUNT], out[AXIS_COUNT];
    int64_t box_n, box[AXIS_COUNT]; /* size of a box: images, and positions along each axis */
    /* number of boxes along each axis of a plane; number of boxes in all */
    int64_t along[AXIS_COUNT], count;
};
/* Chooses the shape that needs the fewest boxes; among equals, the one with the longest rows. */
void tma_boxes_init(struct tma_boxes *boxes, const struct problem *p);

/* tma_grid: blocks of rows and of columns; tiles of all groups, phases and split-K parts; workgroups, each of which
 * loops over its tiles. */
struct tma_grid {
    int64_t rows, columns, tiles, workgroups;
};
void tma_grid_init(struct tma_grid *grid, const struct problem *p, const struct tma_boxes *boxes,
                   int block_m, int block_n, int splits, int workgroups_most);

#endif
