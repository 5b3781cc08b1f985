/*
 * Backward weights (W) of depthwise convolutions (one channel in and out of each group) on packed tensors with
 * channels innermost:
 *
 *   w[c][f] = sum over n and o of y[n][o][c] * x[n][o * STRIDE - pad + f * DILATION][c]
 *
 * A work-item sums FILTER_ROWS filter rows for VECTOR channels, over units of TILE_H by TILE_W outputs. It goes
 * down the rows of x that a unit meets and loads each once. A workgroup has CHANNEL_ITEMS work-items along the
 * channels, and for each of them POSITION_ITEMS work-items, which alternate at the units of one part of the
 * outputs; their sums are added in local memory in a fixed order. With several parts, w is a workspace with the
 * sums of each, channels innermost.
 *
 * Options: TYPE_X, TYPE_Y, TYPE_W; PARTS, 1 where w is a workspace (TYPE_W is FP32 then), else 0; LANE;
 * CHANNELS; FIL_, STRIDE_, DILATION_, PAD_, IN_ and OUT_, each with H and W; CHANNEL_ITEMS, POSITION_ITEMS,
 * VECTOR, TILE_H, TILE_W, FILTER_ROWS.
 */
#include "vector.h"

#define ITEMS          (CHANNEL_ITEMS * POSITION_ITEMS)
#define GROUP_CHANNELS (CHANNEL_ITEMS * VECTOR)
#define BLOCKS         ((CHANNELS + GROUP_CHANNELS - 1) / GROUP_CHANNELS)
#define PASSES         ((FIL_H + FILTER_ROWS - 1) / FILTER_ROWS)
#define SPAN_H         ((TILE_H - 1) * STRIDE_H + (FILTER_ROWS - 1) * DILATION_H + 1)
#define SPAN_W         ((TILE_W - 1) * STRIDE_W + (FIL_W - 1) * DILATION_W + 1)
#define TILES_H        ((OUT_H + TILE_H - 1) / TILE_H)
#define TILES_W        ((OUT_W + TILE_W - 1) / TILE_W)
#define ROW_SUMS       (FIL_W * GROUP_CHANNELS)

/* The number of positions along an axis of x that some output may read. Positions past it count as zero padding,
 * whatever x holds there. */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define READ(in, out, stride, pad, fil, dilation)                                                  \
    LEAST(in, ((out)-1) * (stride) + ((fil)-1) * (dilation) + 1 - (pad))
#define READ_H READ(IN_H, OUT_H, STRIDE_H, PAD_H, FIL_H, DILATION_H)
#define READ_W READ(IN_W, OUT_W, STRIDE_W, PAD_W, FIL_W, DILATION_W)

/* Whether 0 <= at < end, where end may be negative. */
DEVICE int is_within(int at, int end)
{
    return end > 0 && (unsigned int)at < (unsigned int)end;
}

struct unit {
    int n, h, w;
};

DEVICE struct unit unit_at(int number)
{
    struct unit unit;
    unit.w = number % TILES_W * TILE_W;
    unit.h = number / TILES_W % TILES_H * TILE_H;
    unit.n = number / (TILES_W * TILES_H);
    return unit;
}

DEVICE void load_outputs(GLOBAL const STORAGE(TYPE_Y) * y, struct unit unit, int channel,
                         struct packed (*outputs)[TILE_W])
{
    const i64 first = (((i64)unit.n * OUT_H + unit.h) * OUT_W + unit.w) * CHANNELS + channel;
#pragma unroll
    for (int i = 0; i < TILE_H * TILE_W; i++) {
        int row = i / TILE_W, column = i % TILE_W;
        int inside = unit.h + row < OUT_H && unit.w + column < OUT_W;
        PACKED_LOAD(TYPE_Y, outputs[row][column], y, first, (i64)(row * OUT_W + column) * CHANNELS,
                    inside);
    }
}

/* The filter row, counted from the work-item's first one, through which output row `output` of the unit reads row r of
 * the unit's span of x, or -1. */
DEVICE int tap_between(int output, int r)
{
    int way = r - output * STRIDE_H;
    return way >= 0 && way % DILATION_H == 0 && way / DILATION_H < FILTER_ROWS ? way / DILATION_H
                                                                               : -1;
}

/* Adds the products of row r of x, counted within the rows that the unit reads. */
DEVICE void add_row(const struct packed *row, struct packed (*outputs)[TILE_W], int r,
                    LANE (*sums)[FIL_W][VECTOR])
{
#pragma unroll
    for (int output_h = 0; output_h < TILE_H; output_h++) {
        int tap_h = tap_between(output_h, r);
        if (tap_h < 0)
            continue;
#pragma unroll
        for (int i = 0; i < TILE_W * FIL_W; i++) {
            int output_w = i / FIL_W, tap_w = i % FIL_W;
            int q = output_w * STRIDE_W + tap_w * DILATION_W;
#pragma unroll
            for (int lane = 0; lane < VECTOR; lane++)
                sums[tap_h][tap_w][lane] += PACKED_AT(TYPE_X, row[q], lane) *
                                            PACKED_AT(TYPE_Y, outputs[output_h][output_w], lane);
        }
    }
}

/* Adds a unit's products to the sums; first_row is the first filter row that the work-item sums. */
DEVICE void add_unit(GLOBAL const STORAGE(TYPE_X) * x, GLOBAL const STORAGE(TYPE_Y) * y,
                     struct unit unit, int channel, int first_row, LANE (*sums)[FIL_W][VECTOR])
{
    struct packed outputs[TILE_H][TILE_W];
    const int x_h = unit.h * STRIDE_H - PAD_H + first_row * DILATION_H;
    const int x_w = unit.w * STRIDE_W - PAD_W;
    const i64 first = (((i64)unit.n * IN_H + x_h) * IN_W + x_w) * CHANNELS + channel;
    load_outputs(y, unit, channel, outputs);
#pragma unroll
    for (int r = 0; r < SPAN_H; r++) {
        struct packed row[SPAN_W];
#pragma unroll
        for (int q = 0; q < SPAN_W; q++) {
            int inside = is_within(x_h + r, READ_H) && is_within(x_w + q, READ_W);
            PACKED_LOAD(TYPE_X, row[q], x, first, (i64)(r * IN_W + q) * CHANNELS, inside);
        }
        add_row(row, outputs, r, sums);
    }
}

/* Adds up one filter row over the work-items that share its channels, and stores the totals. */
DEVICE void store_row(GLOBAL STORAGE(TYPE_W) * w, int first_channel, int row, int item,
                      LANE (*sums)[VECTOR], LOCAL_POINTER LANE *shared)
{
    const int own = item / CHANNEL_ITEMS * ROW_SUMS + item % CHANNEL_ITEMS * VECTOR;
#pragma unroll
    for (int i = 0; i < FIL_W * VECTOR; i++)
        shared[own + i / VECTOR * GROUP_CHANNELS + i % VECTOR] = sums[i / VECTOR][i % VECTOR];
    BARRIER();
#pragma unroll 1
    for (int i = item; i < ROW_SUMS; i += ITEMS) {
        int channel = first_channel + i % GROUP_CHANNELS;
        LANE sum = 0;
#pragma unroll 4
        for (int position = 0; position < POSITION_ITEMS; position++)
            sum += shared[position * ROW_SUMS + i];
        int tap = row * FIL_W + i / GROUP_CHANNELS;
        if (channel < CHANNELS && row < FIL_H)
            STORE(TYPE_W, w, PARTS ? tap * CHANNELS + channel : channel * FIL_H * FIL_W + tap, sum);
    }
    BARRIER();
}

/* Grid: a workgroup for each block of channels, rows of the filter, and part of the outputs. The outputs are divided
 * into `units`, `part` of them in a part. */
KERNEL(ITEMS, 1, 1)
conv_depthwise_nhwc_w(GLOBAL const STORAGE(TYPE_X) * RESTRICT x,
                      GLOBAL const STORAGE(TYPE_Y) * RESTRICT y,
                      GLOBAL STORAGE(TYPE_W) * RESTRICT w, int units, int part)
{
    LOCAL_ARRAY LANE shared[POSITION_ITEMS * ROW_SUMS];
    LANE sums[FILTER_ROWS][FIL_W][VECTOR];
    const int item = (int)LOCAL_ID(0), group = (int)GROUP_ID(0);
    const int first_channel = group % BLOCKS * GROUP_CHANNELS;
    const int channel = first_channel + item % CHANNEL_ITEMS * VECTOR;
    const int first_row = group / BLOCKS % PASSES * FILTER_ROWS;
    const int split = group / (BLOCKS * PASSES);
    const int left = units - split * part;
    int end = split * part + (left < part ? left : part);
    if (channel >= CHANNELS)
        end = 0;
#pragma unroll
    for (int i = 0; i < FILTER_ROWS * FIL_W * VECTOR; i++)
        sums[i / (FIL_W * VECTOR)][i / VECTOR % FIL_W][i % VECTOR] = 0;
    for (int i = split * part + item / CHANNEL_ITEMS; i < end; i += POSITION_ITEMS)
        add_unit(x, y, unit_at(i), channel, first_row, sums);
    w += (i64)split * CHANNELS * FIL_H * FIL_W;
#pragma unroll
    for (int row = 0; row < FILTER_ROWS; row++)
        store_row(w, first_channel, first_row + row, item, sums[row], shared);
}
