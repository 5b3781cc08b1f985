/*
 * Shared by the solvers of few input channels (first layers): the problems that their kernels can index
 * (kernels/device/few_channels/few_channels.h), the division of rows into even pieces, and options of the
 * shape. 2D, one group, packed tensors of one type and one layout, NCHW or NHWC. For GPUs.
 */
#ifndef SOLVERS_FEW_CHANNELS_FEW_CHANNELS_H
#define SOLVERS_FEW_CHANNELS_FEW_CHANNELS_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"

#define FEW_CHANNELS_MOST 4

/* Whether the kernels can index the problem; otherwise *reason says why not. */
bool few_channels_serves(const struct problem *p, const struct context *context,
                         const char **reason);

/* The least piece length that divides `count` into as few pieces as pieces of length `most` would. */
int64_t few_channels_even(int64_t count, int64_t most);

int64_t few_channels_up_to_fours(int64_t count);

/* W: all images' rows of y, which are divided into parts; the rows of a part; the number of parts that have rows. */
int64_t few_channels_rows(const struct problem *p);
int64_t few_channels_part_rows(const struct problem *p, int32_t parts);
int64_t few_channels_parts(const struct problem *p, int32_t parts);

/* Elements of w, which each part's sums have too. */
int64_t few_channels_weights(const struct problem *p);

/* W: sets the last parameter of a config, the number of parts, to what keeps all units busy. A workgroup
 * computes one part of one of `blocks` blocks of output channels. */
void few_channels_choose_parts(const struct space *space, const struct problem *p,
                               const struct context *context, int64_t blocks,
                               struct perf_config *config);

/* Whether all tensors are NHWC; otherwise all are NCHW. */
bool few_channels_is_nhwc(const struct problem *p);

/* Whether this many adjacent elements are whole chunks of 16 bytes. */
bool few_channels_in_chunks(const struct problem *p, int64_t elements);

/* Elements from one column of x to the next. */
int64_t few_channels_step(const struct problem *p);

/* Elements by which the filter's first term follows the start of a 16-byte chunk of x. It is the same for all
 * tiles, because 16 positions are whole chunks. */
int64_t few_channels_lead(const struct problem *p);

/* Adds the options of kernels for matrix units: TYPE, LANE, C, LEAD, sizes of filter and stride, dilation of rows. */
void few_channels_add_matrix_options(const struct problem *p, struct launch *launch);
/* Adds TYPE, NHWC, C, sizes of filter, stride and dilation. */
void few_channels_add_options(const struct problem *p, struct launch *launch);
/* Adds k, then heights and widths of x, y and the padding. */
void few_channels_add_image(const struct problem *p, struct launch *launch);

#endif
