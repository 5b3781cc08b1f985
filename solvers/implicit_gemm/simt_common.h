/*
 * Shared by the solvers that launch kernels/device/implicit_gemm/conv_simt.cl: how work-items divide a block,
 * and the launch of a batch of FP32 matrix products C = A B with operands in the workspace or the packed filter.
 */
#ifndef SOLVERS_IMPLICIT_GEMM_SIMT_COMMON_H
#define SOLVERS_IMPLICIT_GEMM_SIMT_COMMON_H

#include "solvers/framework/solution.h"

/* A block of sums, a work-item's tile in it, and the loads of a and b: load_a and load_b neighbours at once,
 * along terms or along lines (rows of a, columns of b). has_depth: of a convolution in three dimensions. */
struct simt_block {
    int32_t block_m, block_n, tile_m, tile_n, block_k;
    int32_t load_a, load_b, stages;
    bool a_by_term, b_by_term, c_by_row, async, has_depth;
};

int simt_items(const struct simt_block *block);
/* Whether the workgroup has 64 to 256 work-items, at most `most`, in waves of four by eight. */
bool simt_items_suit(const struct simt_block *block, int most);
/* Whether the loads of a, and of b, divide evenly among the work-items, at most 32 for each. */
bool simt_items_share_a(const struct simt_block *block);
bool simt_items_share_b(const struct simt_block *block);
/* Whether blocks and the kernel's tables fit this much local memory. */
bool simt_fits_local_memory(const struct simt_block *block, int64_t local_bytes);

void simt_add_options(const struct simt_block *block, struct launch *launch);

/* Whether an operand is the packed filter, else where it starts in the workspace (bytes); and its strides in elements: from line to line (rows of a and c,
 * columns of b), from element to element of a line, from group to group, from place to place (place: a product's
 * number in the batch). */
struct simt_operand {
    bool is_packed;
    uint64_t offset;
    int64_t line, other, group, place;
};

/* A batch of products of equal size: `places` times `groups` of them. */
struct simt_product {
    int64_t rows, columns, terms, groups, places;
    struct simt_operand a, b, c;
    int splits;         /* number of split-K parts of the terms, 1 for a sum that is not split */
    int64_t part;       /* terms of a part, a multiple of the block's terms */
    int64_t split_step; /* elements of c from one split-K part's results to the next part's */
};

/* Adds the launch. Each operand's elements must come in aligned groups of four, and reads and writes past the
 * last line or column must be allowed. */
void simt_add_product(const struct simt_product *product, const struct simt_block *block,
                      struct solution *solution);

#endif
