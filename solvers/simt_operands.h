/*
 * A convolution as conv_simt.c sees it: one matrix product per group, a of the filter (F, B) or y (W) times b,
 * gathered, and how the three lie in memory. Tensors are packed, of 2D and of one layout, NCHW or NHWC.
 */
#ifndef SOLVERS_SIMT_OPERANDS_H
#define SOLVERS_SIMT_OPERANDS_H

#include "solvers/problem.h"
#include "solvers/tile_space.h"

bool simt_is_nhwc(const struct problem *p);
/* Positions of the filter. */
int64_t simt_taps(const struct problem *p);
/* Groups, and each group's phases of input positions; the columns are those of the fullest: the first. */
struct tile_product simt_product_sizes(const struct problem *p);

/* Whether four neighbours of a lie at a multiple of four and are there together. */
bool simt_a_has_quads(const struct problem *p);
/* The same of b: in NHWC neighbours are channels, in NCHW positions. */
bool simt_b_has_quads(const struct problem *p);
/* The same of c, or of the parts of w, which lie as NCHW does. */
bool simt_c_has_quads(const struct problem *p, bool is_split);

#endif
