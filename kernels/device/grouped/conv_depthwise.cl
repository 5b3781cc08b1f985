/*
 * Forward (F) and backward data (B) of convolutions with one input channel in each group (w is k by 1 by the filter),
 * 2D and 3D, every tensor stride an argument. For B each work-item reads all y that its elements of x need, so that
 * one kernel serves both.
 *
 * A result's element (y for F, x for B) is a sum over taps. For F a tap is a filter position, and neighbouring
 * results read the source STRIDE apart. For B the filter positions that reach an element are PERIOD apart; the first
 * of them depends on the element's phase, its position modulo the stride. Results that are STRIDE apart read
 * neighbours in the source through the same taps.
 *
 * A work-item computes TILE_H rows of TILE_W vectors of such results, REPEAT times along the row. Neighbouring
 * work-items are neighbours along the axis of the lanes (depthwise.h).
 *
 * Options beside depthwise.h's: DIRECTION_F or DIRECTION_B; TYPE_X, TYPE_W, TYPE_Y; MULTIPLIER (k over c);
 * FIL_, STRIDE_, DILATION_ and PERIOD_, each with D, H and W; ITEMS, TILE_H, REPEAT; UNROLL, 1 where all taps
 * are unrolled and their weights are in registers, else 0.
 */
#ifdef DIRECTION_F
#define SOURCE TYPE_X
#define RESULT TYPE_Y
#define SOURCE_CHANNELS 1
#define RESULT_STEP_H 1
#define RESULT_STEP_W 1
#define TAPS_D FIL_D
#define TAPS_H FIL_H
#define TAPS_W FIL_W
#define SOURCE_STEP_H STRIDE_H
#define SOURCE_STEP_W STRIDE_W
#define TAP_STEP_D DILATION_D
#define TAP_STEP_H DILATION_H
#define TAP_STEP_W DILATION_W
/* The filter position of a tap; a value of FIL or more means that the tap is past the filter. */
#define FILTER_AT(first, tap, taps, period) (tap)
#else
#define SOURCE TYPE_Y
#define RESULT TYPE_X
#define SOURCE_CHANNELS MULTIPLIER
#define RESULT_STEP_H STRIDE_H
#define RESULT_STEP_W STRIDE_W
#define TAPS_D ((FIL_D + PERIOD_D - 1) / PERIOD_D)
#define TAPS_H ((FIL_H + PERIOD_H - 1) / PERIOD_H)
#define TAPS_W ((FIL_W + PERIOD_W - 1) / PERIOD_W)
#define SOURCE_STEP_H 1
#define SOURCE_STEP_W 1
#define TAP_STEP_D (PERIOD_D * DILATION_D / STRIDE_D)
#define TAP_STEP_H (PERIOD_H * DILATION_H / STRIDE_H)
#define TAP_STEP_W (PERIOD_W * DILATION_W / STRIDE_W)
#define FILTER_AT(first, tap, taps, period) ((first) + ((taps)-1 - (tap)) * (period))
#endif

#include "depthwise.h"

/* SPAN_H: rows of the source from the first to the last that a tile reads; it reads every ROW_STEP-th of them. */
#define SPAN_H ((TILE_H - 1) * SOURCE_STEP_H + (TAPS_H - 1) * TAP_STEP_H + 1)
#define ROW_STEP (TILE_H > 1 ? 1 : TAP_STEP_H)

#if UNROLL
enum { SLICES_AT_ONCE = TAPS_D, ROWS_AT_ONCE = SPAN_H };
#else
enum { SLICES_AT_ONCE = 1, ROWS_AT_ONCE = 1 };
#endif
#define WEIGHTS (KEEP_WEIGHTS ? TAPS_D * TAPS_H * TAPS_W : 1)

#ifdef LANES_C
typedef vec weight;
#define SPREAD_WEIGHT(value) (value)
DEFINE_LOAD_LANES(load_weight_lanes, TYPE_W)
#else
typedef LANE weight;
#define SPREAD_WEIGHT(value) vec_splat(value)
#endif

/* A tile along an axis: the position of its first result, the source position that this result reads through
 * the first tap, and (B) the least filter position that meets it. */
struct start {
    int result, source, filter;
};

/* Where tile number `unit` of an axis begins. In B consecutive tiles belong to different phases of the stride. */
DEVICE struct start find_start(int unit, int tile, int size, int pad, int fil, int stride,
                               int dilation, int period, int taps)
{
    struct start start;
#ifdef DIRECTION_F
    start.result = unit * tile;
    start.source = start.result * stride - pad;
    start.filter = 0;
#else
    int phases = stride < size ? stride : size;
    int least = period < fil ? period : fil;
    int padded;
    start.result = unit % phases + unit / phases * tile * stride;
    start.filter = 0;
    padded = start.result + pad;
    while (start.filter < least && (start.filter * dilation - padded) % stride != 0)
        start.filter++;
    if (start.filter == least)
        start.filter = fil;
    start.source = padded / stride - start.filter * dilation / stride -
                   (taps - 1) * (period * dilation / stride);
#endif
    return start;
}

/* The number of tiles along an axis of the result. */
DEVICE int count_units(int size, int tile, int stride)
{
#ifdef DIRECTION_F
    return divide_up(size, tile);
#else
    return (stride < size ? stride : size) * divide_up(divide_up(size, stride), tile);
#endif
}

struct sizes {
    int n, c, d, h, w;
};

struct steps {
    i64 n, c, d, h, w;
};

/* A work-item's tile, and the start of its source in the current channel. */
struct tile {
    struct start d, h, w;
    struct sizes source;
    struct steps source_steps, weight_steps; /* of w, c is k's */
    struct lanes source_lanes, weight_lanes;
    i64 source_at, weight_at;
};

/* The weight of a tap. A tap past the filter gets the channel's first weight; its products must not count. */
DEVICE weight load_weight(GLOBAL const STORAGE(TYPE_W) *w, const struct tile *tile, int tap_d,
                          int tap_h, int tap_w)
{
    int fd = FILTER_AT(tile->d.filter, tap_d, TAPS_D, PERIOD_D);
    int fh = FILTER_AT(tile->h.filter, tap_h, TAPS_H, PERIOD_H);
    int fw = FILTER_AT(tile->w.filter, tap_w, TAPS_W, PERIOD_W);
    i64 at = tile->weight_at;
    if (fd < FIL_D && fh < FIL_H && fw < FIL_W)
        at += fd * tile->weight_steps.d + fh * tile->weight_steps.h + fw * tile->weight_steps.w;
#ifdef LANES_C
    return load_weight_lanes(w, at, &tile->weight_lanes);
#else
    return LOAD(TYPE_W, w, at);
#endif
}

DEVICE void keep_weights(GLOBAL const STORAGE(TYPE_W) *w, const struct tile *tile,
                         weight *weights)
{
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] =
            load_weight(w, tile, i / (TAPS_H * TAPS_W), i / TAPS_W % TAPS_H, i % TAPS_W);
}

/* Adds the products of one source row, the r-th of the tile, with CHUNK_W taps from `first` on. */
DEVICE void add_row(GLOBAL const STORAGE(TYPE_W) *w, const struct tile *tile,
                    const weight *weights, const row_element *row, int tap_d, int r, int first,
                    vec (*sums)[TILE_W])
{
#pragma unroll
    for (int t = 0; t < TILE_H; t++) {
        int behind = r - t * SOURCE_STEP_H;
        int tap_h = behind / TAP_STEP_H;
        if (behind < 0 || behind % TAP_STEP_H != 0 || tap_h >= TAPS_H ||
            FILTER_AT(tile->h.filter, tap_h, TAPS_H, PERIOD_H) >= FIL_H)
            continue;
#pragma unroll
        for (int i = 0; i < CHUNK_W; i++) {
            int tap_w = first + i;
            weight value;
            if (tap_w >= TAPS_W || FILTER_AT(tile->w.filter, tap_w, TAPS_W, PERIOD_W) >= FIL_W)
                continue;
#if KEEP_WEIGHTS
            value = weights[(tap_d * TAPS_H + tap_h) * TAPS_W + tap_w];
#else
            value = load_weight(w, tile, tap_d, tap_h, tap_w);
#endif
#pragma unroll
            for (int v = 0; v < TILE_W; v++)
                sums[t][v] = vec_madd(sums[t][v], SPREAD_WEIGHT(value), ROW_AT(row, v, i));
        }
    }
}

/* Adds the products of one source channel to the tile's sums. `along` is the distance of the tile from the
 * work-item's first tile along the row, in source positions. */
DEVICE void add_channel(GLOBAL const STORAGE(SOURCE) *source, GLOBAL const STORAGE(TYPE_W) *w,
                        const struct tile *tile, const weight *weights, int along,
                        vec (*sums)[TILE_W])
{
#pragma unroll SLICES_AT_ONCE
    for (int tap_d = 0; tap_d < TAPS_D; tap_d++) {
        int d = tile->d.source + tap_d * TAP_STEP_D;
        int is_slice = d >= 0 && d < tile->source.d &&
                       FILTER_AT(tile->d.filter, tap_d, TAPS_D, PERIOD_D) < FIL_D;
#pragma unroll ROWS_AT_ONCE
        for (int r = 0; r < SPAN_H; r += ROW_STEP) {
            int h = tile->h.source + r;
            struct line line;
            line.at = tile->source_at + d * tile->source_steps.d + h * tile->source_steps.h;
            line.step = tile->source_steps.w;
            line.size = tile->source.w;
            line.inside = is_slice && h >= 0 && h < tile->source.h;
            for (int first = 0; first < TAPS_W; first += CHUNK_W) {
                row_element row[ROW_LENGTH];
                stage_row(source, &line, &tile->source_lanes,
                          tile->w.source + along + first * TAP_STEP_W, row);
                add_row(w, tile, weights, row, tap_d, r, first, sums);
            }
        }
    }
}

enum { UNROLL_STORED = EPILOGUE_UNROLLED(VEC) };

/* Stores the tile's sums; `first` holds the coordinates n, c, d, h, w of its first result. */
DEVICE void store_sums(GLOBAL STORAGE(RESULT) *result, struct sizes first, struct sizes sizes,
                       struct steps steps, vec (*sums)[TILE_W] EPILOGUE_PARAMETERS)
{
#pragma unroll
    for (int t = 0; t < TILE_H; t++) {
#pragma unroll
        for (int v = 0; v < TILE_W; v++) {
            LANE values[VEC];
            vec_store(values, sums[t][v]);
#pragma unroll UNROLL_STORED
            for (int i = 0; i < VEC; i++) {
                struct sizes at = first;
                at.h += t * RESULT_STEP_H;
#if defined(LANES_W)
                at.w += (v * VEC + i) * RESULT_STEP_W;
#elif defined(LANES_C)
                at.w += v * RESULT_STEP_W;
                at.c += i;
#else
                at.w += v * RESULT_STEP_W;
                at.n += i;
#endif
                if (at.n < sizes.n && at.c < sizes.c && at.h < sizes.h && at.w < sizes.w)
                    EPILOGUE_STORE(RESULT, result,
                                   at.n * steps.n + at.c * steps.c + at.d * steps.d +
                                       at.h * steps.h + at.w * steps.w,
                                   values[i], at.c);
            }
        }
    }
}

/* Finds where the source and the weights begin for the j-th channel that adds to the work-item's result channels. */
DEVICE void find_channel(struct tile *tile, struct sizes first, int j)
{
    tile->source_at = j * tile->source_steps.c;
    tile->weight_at = j * tile->weight_steps.c;
#ifndef LANES_N
    tile->source_at += first.n * tile->source_steps.n;
#endif
#ifndef LANES_C
#ifdef DIRECTION_F
    tile->source_at += first.c / MULTIPLIER * tile->source_steps.c;
    tile->weight_at += first.c * tile->weight_steps.c;
#else
    tile->source_at += (i64)first.c * MULTIPLIER * tile->source_steps.c;
    tile->weight_at += (i64)first.c * MULTIPLIER * tile->weight_steps.c;
#endif
#endif
}

/* Finds the offsets of a vector's lanes from the start that find_channel() set. */
DEVICE void find_tile_lanes(struct tile *tile, struct sizes first, struct sizes sizes)
{
#if defined(LANES_N)
    find_lanes(first.n, sizes.n, 1, tile->source_steps.n, &tile->source_lanes);
#elif defined(LANES_C) && defined(DIRECTION_F)
    find_lanes(first.c, sizes.c, MULTIPLIER, tile->source_steps.c, &tile->source_lanes);
    find_lanes(first.c, sizes.c, 1, tile->weight_steps.c, &tile->weight_lanes);
#elif defined(LANES_C)
    find_lanes(first.c, sizes.c, 1, MULTIPLIER * tile->source_steps.c, &tile->source_lanes);
    find_lanes(first.c, sizes.c, 1, MULTIPLIER * tile->weight_steps.c, &tile->weight_lanes);
#endif
}

/* size arguments without a prefix are the result's, source_* are the source's. */
KERNEL(ITEMS, 1, 1)
conv_depthwise(GLOBAL const STORAGE(SOURCE) *RESTRICT source,
               GLOBAL const STORAGE(TYPE_W) *RESTRICT w, GLOBAL STORAGE(RESULT) *RESTRICT result,
               i64 source_n, i64 source_c, i64 source_step_d, i64 source_step_h, i64 source_step_w,
               i64 w_k, i64 w_d, i64 w_h, i64 w_w, i64 result_n, i64 result_c, i64 result_d,
               i64 result_h, i64 result_w, int n_count, int c_count, int size_d, int size_h,
               int size_w, int source_d, int source_h, int source_w, int pad_d, int pad_h,
               int pad_w EPILOGUE_PARAMETERS)
{
    weight weights[WEIGHTS];
    vec sums[TILE_H][TILE_W];
    struct tile tile;
    struct sizes first, sizes;
    struct steps steps;
    int rest = (int)GROUP_ID(0) * ITEMS + (int)LOCAL_ID(0);
    sizes.n = n_count;
    sizes.c = c_count;
    sizes.d = size_d;
    sizes.h = size_h;
    sizes.w = size_w;
    steps.n = result_n;
    steps.c = result_c;
    steps.d = result_d;
    steps.h = result_h;
    steps.w = result_w;
    tile.source.d = source_d;
    tile.source.h = source_h;
    tile.source.w = source_w;
    tile.source_steps.n = source_n;
    tile.source_steps.c = source_c;
    tile.source_steps.d = source_step_d;
    tile.source_steps.h = source_step_h;
    tile.source_steps.w = source_step_w;
    tile.weight_steps.c = w_k;
    tile.weight_steps.d = w_d;
    tile.weight_steps.h = w_h;
    tile.weight_steps.w = w_w;
#ifdef LANES_C
    first.c = take(&rest, divide_up(c_count, VEC)) * VEC;
#endif
#ifdef LANES_N
    first.n = take(&rest, divide_up(n_count, VEC)) * VEC;
#endif
    tile.w = find_start(take(&rest, count_units(size_w, POSITIONS * REPEAT, STRIDE_W)),
                        POSITIONS * REPEAT, size_w, pad_w, FIL_W, STRIDE_W, DILATION_W, PERIOD_W,
                        TAPS_W);
    tile.h = find_start(take(&rest, count_units(size_h, TILE_H, STRIDE_H)), TILE_H, size_h, pad_h,
                        FIL_H, STRIDE_H, DILATION_H, PERIOD_H, TAPS_H);
    tile.d = find_start(take(&rest, count_units(size_d, 1, STRIDE_D)), 1, size_d, pad_d, FIL_D,
                        STRIDE_D, DILATION_D, PERIOD_D, TAPS_D);
#ifndef LANES_C
    first.c = take(&rest, c_count);
#endif
#ifndef LANES_N
    first.n = take(&rest, n_count);
#endif
    if (rest > 0 || tile.d.result >= size_d || tile.h.result >= size_h)
        return;
    first.d = tile.d.result;
    first.h = tile.h.result;
    find_tile_lanes(&tile, first, sizes);
    for (int part = 0; part < REPEAT; part++) {
        first.w = tile.w.result + part * POSITIONS * RESULT_STEP_W;
        if (first.w >= size_w)
            break;
#pragma unroll
        for (int i = 0; i < TILE_H * TILE_W; i++)
            sums[i / TILE_W][i % TILE_W] = vec_splat(0);
        for (int j = 0; j < SOURCE_CHANNELS; j++) {
            find_channel(&tile, first, j);
#if KEEP_WEIGHTS
            if (SOURCE_CHANNELS > 1 || part == 0)
                keep_weights(w, &tile, weights);
#endif
            add_channel(source, w, &tile, weights, part * POSITIONS * SOURCE_STEP_W, sums);
        }
        store_sums(result, first, sizes, steps, sums EPILOGUE_ARGUMENTS);
    }
}
