/*
 * How ConvTma divides a convolution: boxes of up to 64 positions, which the copy engine brings at once, and tiles of
 * the matrix product (kernels/device/matrix_nvidia/tma_work.h).
 */
#ifndef SOLVERS_MATRIX_NVIDIA_TMA_BOXES_H
#define SOLVERS_MATRIX_NVIDIA_TMA_BOXES_H

#include "solvers/problem/problem.h"

#define TMA_BOX_MOST 64 /* positions */

/* Boxes over the positions of y, or in B over those of x of a phase of the stride. Where filter positions and places
 * are one and the same (1x1 without padding and stride), all positions are one line. */
struct tma_boxes {
    int64_t n, in[AXIS_COUNT], out[AXIS_COUNT]; /* of the tensors as the kernel is to see them */
    int64_t box_n, box[AXIS_COUNT];             /* positions of a box */
    int64_t along[AXIS_COUNT], count;           /* boxes along an axis of a plane, and in all */
};
/* The boxes of which the fewest are needed; of those the longest lines. */
void tma_boxes_init(struct tma_boxes *boxes, const struct problem *p);

/* Blocks of rows and columns; tiles of all layers and parts; workgroups that go through them. */
struct tma_grid {
    int64_t rows, columns, tiles, workgroups;
};
void tma_grid_init(struct tma_grid *grid, const struct problem *p, const struct tma_boxes *boxes,
                   int block_m, int block_n, int splits, int workgroups_most);

#endif
