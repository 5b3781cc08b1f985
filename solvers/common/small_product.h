/*
 * Convolutions that are one matrix product of packed matrices: with a filter that is the whole image (layers behind a
 * global pool, squeeze-and-excite, fully connected ones) each image is a row; with a 1x1 filter over channels that are
 * innermost each position is one.
 */
#ifndef SOLVERS_COMMON_SMALL_PRODUCT_H
#define SOLVERS_COMMON_SMALL_PRODUCT_H

#include "solvers/framework/solution.h"

/* result[row][column] = the sum over the terms of a times b. In F a is x and b is w, both with terms innermost; in B a is
 * y with terms innermost and b is w with columns innermost; in W a is y with rows innermost and b is x with columns
 * innermost. */
struct small_product {
    int64_t rows, columns, terms;
};

/* Whether filter, stride and padding make each group of the convolution one product, where layouts allow it. */
bool small_product_is_one(const struct problem *p);
/* Whether the convolution is such a product: plain (conv_is_plain()), one group, packed tensors, sizes below 2^31.
 * Otherwise *reason says what is missing. */
bool small_product_serves(const struct problem *p, const char **reason);
/* The product of a problem that small_product_serves(). */
struct small_product small_product_of(const struct problem *p);
double small_product_macs(const struct small_product *product);
/* Whether the product has at most SMALL_PRODUCT_MACS_MOST multiply-accumulates. Otherwise *reason says so: kernels that
 * use each element that they load for larger tiles are faster then, and tuning those of small tiles would be wasted. */
#define SMALL_PRODUCT_MACS_MOST 0x1p31
bool small_product_is_small(const struct small_product *product, const char **reason);

/* The sizes of what is innermost in a and in b. */
int64_t small_product_inner_a(const struct problem *p);
int64_t small_product_inner_b(const struct problem *p);

/* With an epilogue adds `channel_step` and `channels`, by which a kernel finds a column's channel (column / channel_step %
 * channels), and what the epilogue reads: the launch's last arguments. Also for problems whose columns are the channels
 * of an output with channels innermost. */
void small_product_add_epilogue_args(const struct problem *p, struct launch *launch);

#endif
