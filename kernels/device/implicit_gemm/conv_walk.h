/*
 * How a gathering matrix product walks through a convolution. b is the gathered tensor: x, in B y. Either columns are
 * filter positions and channels, and terms are positions and images, or the reverse. The coordinates of an element of
 * b are the sum of its column's and its term's coordinates.
 *
 * Options: one of DIRECTION_F, DIRECTION_B and DIRECTION_W; INNER_CHANNEL, 1 where channels run faster than
 * filter positions; INNER_BATCH, 1 where images run faster than positions; WALK_OFFSET, the type of offsets
 * where 64 bits are not needed. Include conv_shape.h before.
 */
#include "digits.h"

#ifndef WALK_OFFSET
#define WALK_OFFSET i64
#endif

/* The walk along an axis of b. Only some filter positions take part (in B those of a phase); filter position f of
 * them reads, for position p, b's index origin + p * scale + f * spread. The index exists from 0 to limit - 1. */
struct walk {
    int filters, positions;
    int origin, scale, spread, limit;
#if defined(DIRECTION_B)
    /* first of the filter positions in use, as an index of w's axis, and their distance */
    int first_filter, filter_step;
#endif
};

#if defined(DIRECTION_B)

/* Input positions of a phase are phase, phase + stride, ... Filter position f reaches them where phase + pad -
 * f * dilation is a multiple of the stride, which holds for every period-th f. */
DEVICE struct walk walk_along(struct conv_axis axis, int phase)
{
    struct walk walk;
    int at = phase + axis.pad, period = 1, first = 0;
    while (period < axis.fil && period * axis.dilation % axis.stride != 0)
        period++;
    while (first < period && (at - first * axis.dilation) % axis.stride != 0)
        first++;
    walk.filters = first < period ? (axis.fil - 1 - first) / period + 1 : 0;
    walk.positions = (axis.in - 1 - phase) / axis.stride + 1;
    walk.origin = first < period ? (at - first * axis.dilation) / axis.stride : 0;
    walk.scale = 1;
    walk.spread = -(int)((i64)axis.dilation * period / axis.stride);
    walk.limit = axis.out;
    walk.first_filter = first;
    walk.filter_step = period;
    return walk;
}

DEVICE int phases_of(struct conv_axis axis)
{
    return axis.stride < axis.in ? axis.stride : axis.in;
}

#else

DEVICE struct walk walk_along(struct conv_axis axis, int phase)
{
    struct walk walk;
    walk.filters = axis.fil;
    walk.positions = axis.out;
    walk.origin = -axis.pad;
    walk.scale = axis.stride;
    walk.spread = axis.dilation;
    walk.limit = axis.in;
    return walk;
}

#endif

/* The walks along all axes, with the strides of three tensors: b, the filter, and the tensor that has the other
 * positions. */
struct walks {
    struct walk d, h, w;
    int channels, images;
    WALK_OFFSET b_image, b_channel, b_d, b_h, b_w;
    WALK_OFFSET filter_channel, filter_d, filter_h, filter_w;
    WALK_OFFSET other_image, other_d, other_h, other_w;
};

/* A column's or term's share of addresses: its offset in b, its offset in the other tensor that it indexes (c for a
 * column, a for a term), and its coordinates in b. */
struct spot {
    WALK_OFFSET in_b, in_other;
    int d, h, w;
};

#if INNER_CHANNEL
enum { FILTER_D, FILTER_H, FILTER_W, CHANNEL };
#else
enum { CHANNEL, FILTER_D, FILTER_H, FILTER_W };
#endif
#if INNER_BATCH
enum { PLACE_D, PLACE_H, PLACE_W, IMAGE };
#else
enum { IMAGE, PLACE_D, PLACE_H, PLACE_W };
#endif

DEVICE int at_least_1(int count)
{
    return count > 0 ? count : 1;
}

DEVICE struct tile_digits filter_digits(struct walks walks)
{
    int d = at_least_1(walks.d.filters), h = at_least_1(walks.h.filters);
    int w = at_least_1(walks.w.filters);
#if INNER_CHANNEL
    struct tile_digits digits = {h, w, walks.channels};
    (void)d;
#else
    struct tile_digits digits = {d, h, w};
#endif
    return digits;
}

DEVICE struct tile_digits place_digits(struct walks walks)
{
#if INNER_BATCH
    struct tile_digits digits = {walks.h.positions, walks.w.positions, walks.images};
#else
    struct tile_digits digits = {walks.d.positions, walks.h.positions, walks.w.positions};
#endif
    return digits;
}

DEVICE struct spot filter_spot(struct walks walks, struct tile_place at)
{
    struct spot spot;
    int d = at.at[FILTER_D], h = at.at[FILTER_H], w = at.at[FILTER_W];
    spot.d = d * walks.d.spread;
    spot.h = h * walks.h.spread;
    spot.w = w * walks.w.spread;
    spot.in_b = at.at[CHANNEL] * walks.b_channel + spot.d * walks.b_d + spot.h * walks.b_h +
                spot.w * walks.b_w;
    spot.in_other = at.at[CHANNEL] * walks.filter_channel + d * walks.filter_d +
                    h * walks.filter_h + w * walks.filter_w;
    return spot;
}

DEVICE struct spot place_spot(struct walks walks, struct tile_place at)
{
    struct spot spot;
    int d = at.at[PLACE_D], h = at.at[PLACE_H], w = at.at[PLACE_W];
    spot.d = walks.d.origin + d * walks.d.scale;
    spot.h = walks.h.origin + h * walks.h.scale;
    spot.w = walks.w.origin + w * walks.w.scale;
    spot.in_b = at.at[IMAGE] * walks.b_image + spot.d * walks.b_d + spot.h * walks.b_h +
                spot.w * walks.b_w;
    spot.in_other = at.at[IMAGE] * walks.other_image + d * walks.other_d + h * walks.other_h +
                    w * walks.other_w;
    return spot;
}

#if defined(DIRECTION_W)
#define column_digits filter_digits
#define column_spot filter_spot
#define column_count filter_count
#define term_digits place_digits
#define term_spot place_spot
#define term_count place_count
#else
#define column_digits place_digits
#define column_spot place_spot
#define column_count place_count
#define term_digits filter_digits
#define term_spot filter_spot
#define term_count filter_count
#endif

DEVICE int filter_count(struct walks walks)
{
    return walks.channels * walks.d.filters * walks.h.filters * walks.w.filters;
}

DEVICE int place_count(struct walks walks)
{
    return walks.images * walks.d.positions * walks.h.positions * walks.w.positions;
}

/* The coordinates of the index `by` further on; `by` is given as coordinates too. */
DEVICE struct tile_place place_add(struct tile_digits digits, struct tile_place place,
                                   struct tile_place by)
{
    int carry;
    place.at[3] += by.at[3];
    carry = place.at[3] >= digits.fourth;
    place.at[3] -= carry ? digits.fourth : 0;
    place.at[2] += by.at[2] + carry;
    carry = place.at[2] >= digits.third;
    place.at[2] -= carry ? digits.third : 0;
    place.at[1] += by.at[1] + carry;
    carry = place.at[1] >= digits.second;
    place.at[1] -= carry ? digits.second : 0;
    place.at[0] += by.at[0] + carry;
    return place;
}
