/*
 * How ConvGrouped's kernels (kernels/device/grouped/grouped.h) divide a problem by a config: the tile of
 * positions, its patch of the source, and the local memory and registers that they take.
 */
#ifndef SOLVERS_GROUPED_GROUPED_SHAPE_H
#define SOLVERS_GROUPED_GROUPED_SHAPE_H

#include "solvers/framework/space.h"

enum grouped_param {
    GROUPED_TILE_H, /* rows of positions of a tile; in B a position is `stride` rows of x */
    GROUPED_TILE_W,
    GROUPED_GROUPS,     /* groups that a workgroup computes */
    GROUPED_WARP_TILES, /* result channels of a warp, in units of eight */
    /* F, B: 1 keeps the filter in registers, 0 keeps the sums there; W: always 1 */
    GROUPED_KEEP,
    GROUPED_SPLITS, /* W: split-K parts of the positions; F, B: 1 */
    GROUPED_PARAM_COUNT
};

#define GROUPED_CHUNK         8  /* channels in 16 bytes */
#define GROUPED_CHANNELS_MOST 64 /* the most channels of a group, of input and of output */

/* Input channels (c) of a group, rounded up to whole chunks of 16 bytes. */
int64_t grouped_c(const struct problem *p);
int64_t grouped_k(const struct problem *p);
/* Channels of a group in the result: k, in B c. */
int64_t grouped_result(const struct problem *p);

/* Columns of the source for all images together, padding included. */
double grouped_columns(const struct problem *p);
int64_t grouped_items(const struct problem *p, const int32_t *values);
/* grouped_tiles(): tiles of positions for one bundle of groups (the groups of a workgroup). grouped_bundles(): number
 * of bundles. */
double grouped_tiles(const struct problem *p, const int32_t *values);
int64_t grouped_bundles(const struct problem *p, const int32_t *values);
/* The share of the tiles' positions that the problem really has; the rest is wasted. */
double grouped_used_part(const struct problem *p, const int32_t *values);
double grouped_local_bytes(const struct problem *p, const int32_t *values);
/* Registers of a work-item for sums and filter; in W for sums and operands. */
double grouped_registers(const struct problem *p, const int32_t *values);
/* Matrix instructions (16 by 8 by 16) that a kernel unrolls, and the tiles of sums that it unrolls to store them. */
double grouped_products(const struct problem *p, const int32_t *values);

#endif
