/*
 * What solvers of kernels/device/implicit_gemm/conv_simt.cl share: how its items divide a block, and its launch for a
 * batch of matrix products C = A B whose operands lie in the workspace, FP32.
 */
#ifndef SOLVERS_IMPLICIT_GEMM_SIMT_COMMON_H
#define SOLVERS_IMPLICIT_GEMM_SIMT_COMMON_H

#include "solvers/framework/solution.h"

/* What a block's items compute and load; of a and b LOAD neighbours at once, which are terms or lines
 * (rows of a, columns of b). */
struct simt_block {
    int32_t block_m, block_n, tile_m, tile_n, block_k;
    int32_t load_a, load_b, stages;
    bool a_by_term, b_by_term, c_by_row, async;
};

int simt_items(const struct simt_block *block);
/* Whether a workgroup of so many items at the most is made of waves of four by eight. */
bool simt_items_suit(const struct simt_block *block, int most);
/* Whether the items divide what is loaded of a, and of b. */
bool simt_items_share_a(const struct simt_block *block);
bool simt_items_share_b(const struct simt_block *block);
/* Whether the blocks and the kernel's tables fit local memory of so many bytes. */
bool simt_fits_local_memory(const struct simt_block *block, int64_t local_bytes);

void simt_add_options(const struct simt_block *block, struct launch *launch);

/* Where an operand begins in the workspace, in bytes, and how far its elements are apart, in elements:
 * lines (rows of a and c, columns of b), the others (terms of a and b, columns of c), groups, places. */
struct simt_operand {
    uint64_t offset;
    int64_t line, other, group, place;
};

/* places times groups products of one size. */
struct simt_product {
    int64_t rows, columns, terms, groups, places;
    struct simt_operand a, b, c;
    int splits;         /* parts of the terms, from 1 */
    int64_t part;       /* terms a part, whole blocks */
    int64_t split_step; /* elements of c between the parts' results */
};

/* Four neighbours of each operand lie at a multiple of four, and may be loaded and stored past the last
 * line or column. */
void simt_add_product(const struct simt_product *product, const struct simt_block *block,
                      struct solution *solution);

#endif
