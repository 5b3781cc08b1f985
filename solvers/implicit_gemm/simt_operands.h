/*
 * A convolution as conv_simt.c sees it: one matrix product per group, a of the filter (F, B) or y (W) times b,
 * gathered, and how the three lie in memory. Tensors are packed, of 2D and of one layout, NCHW or NHWC.
 */
#ifndef SOLVERS_IMPLICIT_GEMM_SIMT_OPERANDS_H
#define SOLVERS_IMPLICIT_GEMM_SIMT_OPERANDS_H

#include "solvers/common/tile_space.h"
#include "solvers/problem/problem.h"

bool simt_is_nhwc(const struct problem *p);
/* Positions of the filter. */
int64_t simt_taps(const struct problem *p);
/* Groups, and each group's phases of input positions, but for those whose zeros the first phase stores; the
 * columns are those of the fullest: the first; the terms the most that any has. */
struct tile_product simt_product_sizes(const struct problem *p);

/* Whether four neighbours of a lie at a multiple of four and are there together. */
bool simt_a_has_quads(const struct problem *p);
/* The same of b: in NHWC neighbours are channels, in NCHW positions. */
bool simt_b_has_quads(const struct problem *p);

/* How the kernel stores what it has summed; its c_quads. */
enum simt_store {
    SIMT_STORE_EACH,
    SIMT_STORE_QUADS,        /* four neighbours at a multiple of four */
    SIMT_STORE_PAIRS_SPREAD, /* B of a 1x1 filter of stride 2: with the zeros of what it leaves out */
    SIMT_STORE_QUADS_SPREAD, /* the same, four neighbours of y in one line */
};

/* is_split: into the parts of w, which lie as NCHW does. */
enum simt_store simt_store_of(const struct problem *p, bool is_split);

#endif
