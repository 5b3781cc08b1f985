/*
 * What solvers of few input channels share: which problems their kernels (kernels/device/few_channels/few_channels.h) can
 * index, how a row is divided evenly, and the options of the shape. 2D, one group, packed tensors of one type and one
 * layout, NCHW or NHWC. For GPUs.
 */
#ifndef SOLVERS_FEW_CHANNELS_FEW_CHANNELS_H
#define SOLVERS_FEW_CHANNELS_FEW_CHANNELS_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"

#define FEW_CHANNELS_MOST 4

/* Otherwise *reason says why not. */
bool few_channels_serves(const struct problem *p, const struct context *context,
                         const char **reason);

/* The least length of which as many pieces make up `count` as of pieces of length `most`. */
int64_t few_channels_even(int64_t count, int64_t most);

int64_t few_channels_up_to_fours(int64_t count);

/* W: rows of y of all images, which are divided into parts; a part's rows; and the parts that have rows. */
int64_t few_channels_rows(const struct problem *p);
int64_t few_channels_part_rows(const struct problem *p, int32_t parts);
int64_t few_channels_parts(const struct problem *p, int32_t parts);

/* Elements of w, and of each part's sums. */
int64_t few_channels_weights(const struct problem *p);

/* W: gives a config of the space, whose last parameter are the parts, as many as keep the units busy, a workgroup
 * having a part and one of so many blocks of output channels. */
void few_channels_choose_parts(const struct space *space, const struct problem *p,
                               const struct context *context, int64_t blocks,
                               struct perf_config *config);

/* Whether the problem's tensors are NHWC, all of them; else NCHW. */
bool few_channels_is_nhwc(const struct problem *p);

/* Whether so many elements that lie together are whole chunks of 16 bytes. */
bool few_channels_in_chunks(const struct problem *p, int64_t elements);

/* Elements from a column of x to the next. */
int64_t few_channels_step(const struct problem *p);

/* Elements of a chunk of x before the filter's first term, for every tile or step: 16 positions are whole chunks. */
int64_t few_channels_lead(const struct problem *p);

/* What the kernels of matrix units have in common: TYPE, LANE, C, LEAD, the filter's and stride's sizes, dilation of
 * rows. */
void few_channels_add_matrix_options(const struct problem *p, struct launch *launch);
/* TYPE, NHWC, C, the filter's, stride's and dilation's sizes. */
void few_channels_add_options(const struct problem *p, struct launch *launch);
/* k, then heights and widths of x and y and of the padding. */
void few_channels_add_image(const struct problem *p, struct launch *launch);

#endif
