/*
 * What kernels/device/grouped/grouped.h makes of a problem and a config: the tile, its patch of the source, and the local
 * memory and registers that they take.
 */
#ifndef SOLVERS_GROUPED_GROUPED_SHAPE_H
#define SOLVERS_GROUPED_GROUPED_SHAPE_H

#include "solvers/framework/space.h"

enum grouped_param {
    GROUPED_TILE_H, /* rows of positions; in B each is as many rows of x as the stride */
    GROUPED_TILE_W,
    GROUPED_GROUPS,     /* of a workgroup */
    GROUPED_WARP_TILES, /* eights of result channels of a warp */
    GROUPED_KEEP,       /* F, B: the filter stays in registers, not the sums; W: 1 */
    GROUPED_SPLITS,     /* W: parts of the positions; F, B: 1 */
    GROUPED_PARAM_COUNT
};

#define GROUPED_CHUNK         8  /* channels: 16 bytes */
#define GROUPED_CHANNELS_MOST 64 /* of a group, either side */

/* Channels of a group, those that fill up its last chunk among them. */
int64_t grouped_c(const struct problem *p);
int64_t grouped_k(const struct problem *p);
/* Channels of a group of the result that is computed at a time: k, in B c. */
int64_t grouped_result(const struct problem *p);

/* Columns of the source, padding among them, counted through all images. */
double grouped_columns(const struct problem *p);
int64_t grouped_items(const struct problem *p, const int32_t *values);
/* Tiles of a bundle of groups, and bundles. */
double grouped_tiles(const struct problem *p, const int32_t *values);
int64_t grouped_bundles(const struct problem *p, const int32_t *values);
/* The share of tiles' positions that is there. */
double grouped_used_part(const struct problem *p, const int32_t *values);
double grouped_local_bytes(const struct problem *p, const int32_t *values);
/* Registers of an item for sums and filter, or for what stands in their place in W. */
double grouped_registers(const struct problem *p, const int32_t *values);
/* Products of 16 by 8 by 16 that are spelled out in a kernel, and sums on their way out. */
double grouped_products(const struct problem *p, const int32_t *values);

#endif
