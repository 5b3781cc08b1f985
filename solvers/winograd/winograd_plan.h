/*
 * Where Winograd's transformed operands are in the workspace, and their product.
 *
 * Winograd's minimal filtering F(m x m, 3 x 3) computes a tile of m by m outputs from (m + 2) by (m + 2) inputs
 * with (m + 2)^2 multiplications instead of 9 m^2. Tiles of the input and the filters are transformed by small
 * constant matrices, multiplied element by element and summed over channels, and transformed back. The
 * element-wise products of all tiles are one matrix product for each of the 16 (m = 2) or 36 (m = 4) places of
 * a tile; a plane holds the values of one place. See Lavin and Gray, "Fast Algorithms for Convolutional Neural
 * Networks" (2015).
 */
#ifndef SOLVERS_WINOGRAD_WINOGRAD_PLAN_H
#define SOLVERS_WINOGRAD_WINOGRAD_PLAN_H

#include "solvers/common/tile_space.h"
#include "solvers/implicit_gemm/simt_common.h"

/* Planes of transformed values in the workspace; winograd.h describes their layout. */
struct winograd_planes {
    enum tensor_role tensor;
    bool by_channel;
    int64_t images,
        channels;     /* of the tensor: n and all channels; of the filter: k and c of a group */
    int64_t tiles[2]; /* along H and W */
    int64_t rows, columns, pitch;
    int64_t
        filled; /* columns that the transform writes, zeros included, to fill groups of four terms in W */
    uint64_t offset;
};

/* The transformed operands and their products, in the workspace's order. */
struct winograd_plan {
    int places; /* planes of each operand */
    struct winograd_planes a, b, c;
    uint64_t part_bytes; /* bytes of c's planes, which each part of split sums has */
    int splits;
    int64_t part; /* terms of a part */
};

/* Sets all but splits and part, for tiles of `tile` by `tile` positions (2 or 4) of y, in B of x. */
void winograd_lay_out(const struct problem *p, int tile, struct winograd_plan *plan);
int64_t winograd_patches(const struct winograd_planes *planes);

/* Whether each operand's elements come in complete aligned groups of four, as simt_add_product() requires. */
bool winograd_has_quads(const struct problem *p, const struct winograd_plan *plan);
/* The block of conv_simt.cl that the tile's parameters mean. */
struct simt_block winograd_simt_block(const struct problem *p, const int32_t *values,
                                      const struct winograd_plan *plan);

/* Adds the product's launch, of conv_simt.cl or gemm.cl. The config begins with the tile's parameters. */
void winograd_add_product(const struct problem *p, const struct context *context,
                          const int32_t *values, bool is_simt, const struct winograd_plan *plan,
                          struct solution *solution);

#endif
