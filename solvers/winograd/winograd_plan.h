/*
 * Where Winograd's transformed operands lie, and their product: each of a tile's places (16 or 36) has a
 * plane of every operand in the workspace, and the planes are multiplied as a batch of matrices.
 */
#ifndef SOLVERS_WINOGRAD_WINOGRAD_PLAN_H
#define SOLVERS_WINOGRAD_WINOGRAD_PLAN_H

#include "solvers/common/tile_space.h"
#include "solvers/implicit_gemm/simt_common.h"

/* Planes of transformed values in the workspace; winograd.h says how they lie. */
struct winograd_planes {
    enum tensor_role tensor;
    bool by_channel;
    int64_t images, channels; /* of the tensor: n and all channels, or k and c of a group */
    int64_t tiles[2];         /* H, W */
    int64_t rows, columns, pitch;
    int64_t filled; /* columns that the transform writes: zeros make quads of W's terms */
    uint64_t offset;
};

/* The transformed operands and their products, in the order of the workspace. */
struct winograd_plan {
    int places; /* planes of each */
    struct winograd_planes a, b, c;
    uint64_t part_bytes; /* of c's planes, which each part of the sums has */
    int splits;
    int64_t part; /* terms of each */
};

/* Sets all but splits and part, for tiles of so many by so many positions, 2 or 4, of y (B: of x). */
void winograd_lay_out(const struct problem *p, int tile, struct winograd_plan *plan);
int64_t winograd_patches(const struct winograd_planes *planes);

/* Whether four neighbours of each operand lie at a multiple of four and are there together, as
 * simt_add_product() wants it. */
bool winograd_has_quads(const struct problem *p, const struct winograd_plan *plan);
/* The block of conv_simt.cl that the tile's parameters say. */
struct simt_block winograd_simt_block(const struct problem *p, const int32_t *values,
                                      const struct winograd_plan *plan);

/* The product's launch by a config that begins with the tile's parameters: of conv_simt.cl, or gemm.cl. */
void winograd_add_product(const struct problem *p, const struct context *context,
                          const int32_t *values, bool is_simt, const struct winograd_plan *plan,
                          struct solution *solution);

#endif
