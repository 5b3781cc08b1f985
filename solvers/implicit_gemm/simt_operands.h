/*
 * A convolution as ConvSimt computes it: one matrix product for each group. Operand a is the filter (F, B) or y
 * (W); operand b is gathered from the other tensor. All tensors are packed, 2D, and of one layout, NCHW or
 * NHWC.
 */
#ifndef SOLVERS_IMPLICIT_GEMM_SIMT_OPERANDS_H
#define SOLVERS_IMPLICIT_GEMM_SIMT_OPERANDS_H

#include "solvers/common/tile_space.h"
#include "solvers/problem/problem.h"

bool simt_is_nhwc(const struct problem *p);
/* Filter positions. */
int64_t simt_taps(const struct problem *p);
/* Sizes of the products. Layers are groups and, for B, each group's phases of input positions, without those
 * whose zeros the first phase stores. Columns are those of the first phase, which has the most; terms are the
 * most of any phase. */
struct tile_product simt_product_sizes(const struct problem *p);

/* Whether a's elements come in aligned groups of four that are complete. */
bool simt_a_has_quads(const struct problem *p);
/* The same for b, whose neighbours are channels in NHWC and positions in NCHW. */
bool simt_b_has_quads(const struct problem *p);

/* How the kernel stores its sums; its option c_quads. */
enum simt_store {
    SIMT_STORE_EACH,
    SIMT_STORE_QUADS,        /* aligned groups of four */
    SIMT_STORE_PAIRS_SPREAD, /* B of a 1x1 filter of stride 2: with the zeros of the positions between */
    SIMT_STORE_QUADS_SPREAD, /* the same, from four neighbours of y in one line */
};

/* With is_split for the parts of w, whose layout is NCHW's. */
enum simt_store simt_store_of(const struct problem *p, bool is_split);

#endif
