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

/* The shortest piece length that divides `count` into no more pieces than pieces of length `most` do; the pieces are
 * then nearly equal. */
int64_t few_channels_even(int64_t count, int64_t most);

int64_t few_channels_up_to_fours(int64_t count);

/* For W: rows of y of all images, which are divided into split-K parts; the rows of a part; the number of parts that
 * have rows. */
int64_t few_channels_rows(const struct problem *p);
int64_t few_channels_part_rows(const struct problem *p, int32_t parts);
int64_t few_channels_parts(const struct problem *p, int32_t parts);

/* The number of elements of w, which is also the number of sums in each part. */
int64_t few_channels_weights(const struct problem *p);

/* W: sets the last parameter of a config, the number of parts, to what keeps all units busy. A workgroup
 * computes one part of one of `blocks` blocks of output channels. */
void few_channels_choose_parts(const struct space *space, const struct problem *p,
                               const struct context *context, int64_t blocks,
                               struct perf_config *config);

/* Whether all tensors are NHWC; otherwise all are NCHW. */
bool few_channels_is_nhwc(const struct problem *p);

/* Whether `elements` adjacent elements fill whole chunks of 16 bytes. */
bool few_channels_in_chunks(const struct problem *p, int64_t elements);

/* Elements of memory from one column of x to the next. */
int64_t few_channels_step(const struct problem *p);

/* Elements by which the filter's first term follows the start of a 16-byte chunk of x. It is the same for all
 * tiles, because 16 positions are whole chunks. */
int64_t few_channels_lead(const struct problem *p);

/* Adds the options of kernels for matrix units: TYPE, LANE, C, LEAD, sizes of filter and stride, dilation of rows. */
void few_channels_add_matrix_options(const struct problem *p, struct launch *launch);
/* Adds the options TYPE, NHWC, C, and sizes of filter, stride and dilation. */
void few_channels_add_options(const struct problem *p, struct launch *launch);
/* Adds arguments: k, then heights and widths of x, y and the padding. */
void few_channels_add_image(const struct problem *p, struct launch *launch);

#endif
