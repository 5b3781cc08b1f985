/*
 * The elements that a partial reference has: columns of a convolution's matrix product (reference_conv.c), or positions
 * of the channels that other operators compute one by one (reference_operators.c). Every tile that a kernel may work
 * on, and every edge, has an element that is compared.
 *
 * A column of F and B is a position of an image, a column of W a tap of the filter in a channel. In W the channels of a
 * group count as one axis of an image, and the taps as another. The partial reference keeps
 *
 * - the corners of each image: the positions that are first or last on every axis;
 * - all edges of the first and the last image, positions first or last on any axis (in W the first and the last channel
 *   of each group);
 * - of the others one of `one_of`, as a lattice: those where at[2] + step at[1] + step^2 at[0] + offset is a multiple of
 *   one_of. In each line one of `one_of` neighbours is kept, and the next line's are moved on by `step`, about 0.618 of
 *   one_of and without a common divisor with it. So every rectangle of 4 one_of positions, however long or narrow, has
 *   a kept position, and so has every row or column of one_of positions. The offset is drawn for each image of each
 *   group.
 *
 * All rows of a kept column are computed: all channels of the output in its group (W: all of y's). So any tile of
 * output channels by 4 one_of positions of a rectangle is met.
 *
 * Where channels are computed one by one, the lattice moves on by `channel_step`, about 0.732 of one_of, from a channel to
 * the next. So each position is kept in one of `one_of` neighbouring channels, and each block of channels and positions that
 * has 6 one_of elements has a kept one. Images of a single position have no corners. The images then count as
 * positions, and the first and the last image are kept.
 */
#ifndef WORKER_VERIFY_REFERENCE_COLUMNS_H
#define WORKER_VERIFY_REFERENCE_COLUMNS_H

#include "solvers/problem/problem.h"

struct reference_columns {
    int64_t one_of; /* 1: all columns are kept */
    int64_t step, channel_step;
    int64_t images;
    int64_t size[AXIS_COUNT]; /* positions of an image on each axis */
    bool taps;                /* the last axis is that of taps, whose ends are no edges */
};

void reference_columns_init(struct reference_columns *columns, const struct problem *p,
                            int64_t one_of);
/* column: image * positions + position; in W channel of the group * taps + tap. */
bool reference_column_is_kept(const struct reference_columns *columns, int64_t group,
                              int64_t column);
/* Whether an operator's position of an image's channel is kept. */
bool reference_position_is_kept(const struct reference_columns *columns, int64_t image,
                                int64_t channel, int64_t position);

#endif
