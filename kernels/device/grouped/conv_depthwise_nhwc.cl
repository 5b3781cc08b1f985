/*
 * Forward (F) and backward data (B) of depthwise convolutions (one channel in and out of each group) on packed
 * tensors with channels innermost. For both, a result (y or x) is a sum over taps, the filter positions through which
 * it reads the source (x or y), so that one kernel serves both.
 *
 * A work-item computes TILE_H rows by TILE_W columns of results (B: whole strides of them) for VECTOR channels.
 * It goes down the source rows that these results meet, loads each row once, and adds a position's products to
 * all results that it meets; which ones is known at compile time. Neighbouring work-items have neighbouring
 * channels, then columns.
 *
 * Options: DIRECTION_F or DIRECTION_B; TYPE_X, TYPE_W, TYPE_Y; LANE; CHANNELS; FIL_, STRIDE_, DILATION_, PAD_,
 * IN_ and OUT_, each with H and W; ITEMS, VECTOR, TILE_H, TILE_W; KEEP_WEIGHTS, 1 where a work-item has all its
 * weights in registers, else 0.
 */
#include "vector.h"
#include "epilogue.h"

#ifdef DIRECTION_F
#define SOURCE                                      TYPE_X
#define RESULT                                      TYPE_Y
#define SOURCE_H                                    IN_H
#define SOURCE_W                                    IN_W
#define RESULT_H                                    OUT_H
#define RESULT_W                                    OUT_W
#define ROWS                                        TILE_H
#define COLUMNS                                     TILE_W
#define SPAN(tile, fil, stride, dilation)           (((tile)-1) * (stride) + ((fil)-1) * (dilation) + 1)
/* F. RESULT_AT: a tile's first result. SOURCE_AT: the first source position that this result reads. TILES: tiles
 * along an axis. */
#define RESULT_AT(tile, stride, pad)                (tile)
#define SOURCE_AT(tile, fil, stride, dilation, pad) ((tile) * (stride) - (pad))
#define TILES(size, tile, stride, pad)              (((size) + (tile)-1) / (tile))
#else
#define SOURCE                            TYPE_Y
#define RESULT                            TYPE_X
#define SOURCE_H                          OUT_H
#define SOURCE_W                          OUT_W
#define RESULT_H                          IN_H
#define RESULT_W                          IN_W
#define ROWS                              (TILE_H * STRIDE_H)
#define COLUMNS                           (TILE_W * STRIDE_W)
/* B. Positions of y, before the one of a result's own stride, that the result reads through the filter. */
#define REACH(fil, stride, dilation)      (((fil)-1) * (dilation) / (stride))
#define SPAN(tile, fil, stride, dilation) ((tile) + REACH(fil, stride, dilation))
/* B. A tile begins at a whole stride, counted from the start of the padding. */
#define RESULT_AT(tile, stride, pad)      ((tile) * (stride) - (pad) % (stride))
#define SOURCE_AT(tile, fil, stride, dilation, pad)                                                \
    ((tile) + (pad) / (stride)-REACH(fil, stride, dilation))
#define TILES(size, tile, stride, pad)                                                             \
    (((size) + (pad) % (stride) + (tile) * (stride)-1) / ((tile) * (stride)))
#endif

#define SPAN_H  SPAN(TILE_H, FIL_H, STRIDE_H, DILATION_H)
#define SPAN_W  SPAN(TILE_W, FIL_W, STRIDE_W, DILATION_W)
#define TILES_H TILES(RESULT_H, TILE_H, STRIDE_H, PAD_H)
#define TILES_W TILES(RESULT_W, TILE_W, STRIDE_W, PAD_W)
#define TAPS    (FIL_H * FIL_W)
#define VECTORS (CHANNELS / VECTOR)

#ifdef EPILOGUE

#define LANES_BYTES (VECTOR * sizeof(STORAGE(RESULT)))

struct ALIGNED(LANES_BYTES < 16 ? LANES_BYTES : 16) result_lanes {
    STORAGE(RESULT) lane[VECTOR];
};

/* Stores the results of VECTOR neighbouring channels from `channel` on at place `at`. */
DEVICE void store_finished(GLOBAL STORAGE(RESULT) * result, i64 at, int channel,
                           const LANE *lanes EPILOGUE_PARAMETERS)
{
    struct result_lanes stored;
#pragma unroll
    for (int i = 0; i < VECTOR; i++)
        stored.lane[i] = EPILOGUE_ROUND(
            RESULT, epilogue_value(lanes[i], channel + i, at + i EPILOGUE_ARGUMENTS));
    *(GLOBAL struct result_lanes *)(GLOBAL void *)(result + at) = stored;
}

#define STORE_LANES(row, at, channel, lanes)                                                       \
    store_finished(result, (row) + (at), channel, lanes EPILOGUE_ARGUMENTS)

#else

DEFINE_PACKED_STORE(store_lanes, RESULT)

#define STORE_LANES(row, at, channel, lanes) store_lanes(result + (row) + (at), lanes)

#endif

/* The tap (filter position) through which a result reads place number `place` of the tile's source span, or -1. */
DEVICE int tap_between(int result, int place, int fil, int stride, int dilation)
{
#ifdef DIRECTION_F
    int way = place - result * stride;
#else
    int way = result - (place - REACH(fil, stride, dilation)) * stride;
#endif
    return way >= 0 && way % dilation == 0 && way / dilation < fil ? way / dilation : -1;
}

/* The last row of the tile's source span that a row of results reads. A row of results that reads none is finished
 * with the last row of the span. */
DEVICE int last_row_of(int result)
{
    int last = -1;
#pragma unroll
    for (int r = 0; r < SPAN_H; r++)
        last = tap_between(result, r, FIL_H, STRIDE_H, DILATION_H) >= 0 ? r : last;
    return last < 0 ? SPAN_H - 1 : last;
}

/* The weights of a work-item's channels, tap by tap. */
struct weights {
#if KEEP_WEIGHTS
    LANE lane[TAPS][VECTOR];
#else
    GLOBAL const STORAGE(TYPE_W) * from;
#endif
};

/* Loads the weights of VECTOR channels; w holds each channel's taps as neighbours. */
DEVICE void find_weights(GLOBAL const STORAGE(TYPE_W) * w, int channel, struct weights *weights)
{
#if KEEP_WEIGHTS
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
        struct packed packed;
        PACKED_LOAD(TYPE_W, packed, w, channel * TAPS, i * VECTOR, 1);
#pragma unroll
        for (int j = 0; j < VECTOR; j++)
            weights->lane[(i * VECTOR + j) % TAPS][(i * VECTOR + j) / TAPS] =
                PACKED_AT(TYPE_W, packed, j);
    }
#else
    weights->from = w + channel * TAPS;
#endif
}

DEVICE LANE weight_at(const struct weights *weights, int tap, int lane)
{
#if KEEP_WEIGHTS
    return weights->lane[tap][lane];
#else
    return ELEMENT_AT(TYPE_W, weights->from, lane * TAPS + tap);
#endif
}

/* Adds the products of the source position in row r and column q of the tile's span to every result that reads it. */
DEVICE void add_position(const struct weights *weights, const LANE *values, int r, int q,
                         LANE (*sums)[COLUMNS][VECTOR])
{
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        int tap_h = tap_between(row, r, FIL_H, STRIDE_H, DILATION_H);
#pragma unroll
        for (int column = 0; column < COLUMNS; column++) {
            int tap_w = tap_between(column, q, FIL_W, STRIDE_W, DILATION_W);
            if (tap_h < 0 || tap_w < 0)
                continue;
#pragma unroll
            for (int lane = 0; lane < VECTOR; lane++)
                sums[row][column][lane] +=
                    values[lane] * weight_at(weights, tap_h * FIL_W + tap_w, lane);
        }
    }
}

/* Where a work-item's tile of results, and the span of the source that it reads, begin. */
struct tile {
    int channel, result_h, result_w, source_h, source_w;
    i64 result_at, source_at;
};

/* Adds the products of row r of the tile's source span. */
DEVICE void add_row(GLOBAL const STORAGE(SOURCE) * source, const struct tile *tile,
                    const struct weights *weights, int r, LANE (*sums)[COLUMNS][VECTOR])
{
    const int is_row = (unsigned int)(tile->source_h + r) < SOURCE_H;
    struct packed row[SPAN_W];
#pragma unroll
    for (int q = 0; q < SPAN_W; q++) {
        int inside = is_row && (unsigned int)(tile->source_w + q) < SOURCE_W;
        PACKED_LOAD(SOURCE, row[q], source, tile->source_at, (i64)(r * SOURCE_W + q) * CHANNELS,
                    inside);
    }
#pragma unroll
    for (int q = 0; q < SPAN_W; q++) {
        LANE values[VECTOR];
#pragma unroll
        for (int lane = 0; lane < VECTOR; lane++)
            values[lane] = PACKED_AT(SOURCE, row[q], lane);
        add_position(weights, values, r, q, sums);
    }
}

DEVICE void store_row(GLOBAL STORAGE(RESULT) * result, const struct tile *tile, int row,
                      LANE (*sums)[VECTOR] EPILOGUE_PARAMETERS)
{
    const i64 at = tile->result_at + (i64)row * RESULT_W * CHANNELS;
    const int is_row = (unsigned int)(tile->result_h + row) < RESULT_H;
#pragma unroll
    for (int column = 0; column < COLUMNS; column++) {
        if (is_row && (unsigned int)(tile->result_w + column) < RESULT_W)
            STORE_LANES(at, column * CHANNELS, tile->channel, sums[column]);
    }
}

/* Finds the work-item's tile by its number; false where the number is past the last tile. */
DEVICE int find_tile(int number, int n_count, struct tile *tile)
{
    const int n = number / (VECTORS * TILES_W * TILES_H);
    const int tile_h = number / (VECTORS * TILES_W) % TILES_H * TILE_H;
    const int tile_w = number / VECTORS % TILES_W * TILE_W;
    tile->channel = number % VECTORS * VECTOR;
    tile->result_h = RESULT_AT(tile_h, STRIDE_H, PAD_H);
    tile->result_w = RESULT_AT(tile_w, STRIDE_W, PAD_W);
    tile->source_h = SOURCE_AT(tile_h, FIL_H, STRIDE_H, DILATION_H, PAD_H);
    tile->source_w = SOURCE_AT(tile_w, FIL_W, STRIDE_W, DILATION_W, PAD_W);
    tile->result_at = (((i64)n * RESULT_H + tile->result_h) * RESULT_W + tile->result_w) * CHANNELS;
    tile->source_at = (((i64)n * SOURCE_H + tile->source_h) * SOURCE_W + tile->source_w) * CHANNELS;
    tile->result_at += tile->channel;
    tile->source_at += tile->channel;
    return n < n_count;
}

KERNEL(ITEMS, 1, 1)
conv_depthwise_nhwc(GLOBAL const STORAGE(SOURCE) * RESTRICT source,
                    GLOBAL const STORAGE(TYPE_W) * RESTRICT w,
                    GLOBAL STORAGE(RESULT) * RESTRICT result, int n_count EPILOGUE_PARAMETERS)
{
    LANE sums[ROWS][COLUMNS][VECTOR];
    struct weights weights;
    struct tile tile;
    if (!find_tile((int)GROUP_ID(0) * ITEMS + (int)LOCAL_ID(0), n_count, &tile))
        return;
    find_weights(w, tile.channel, &weights);
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS * VECTOR; i++)
        sums[i / (COLUMNS * VECTOR)][i / VECTOR % COLUMNS][i % VECTOR] = 0;
#if KEEP_WEIGHTS
#pragma unroll
    for (int r = 0; r < SPAN_H; r++) {
        add_row(source, &tile, &weights, r, sums);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (last_row_of(row) == r)
                store_row(result, &tile, row, sums[row] EPILOGUE_ARGUMENTS);
        }
    }
#else
        /* The loop is not unrolled: otherwise the loads of all weights would be in flight at once and take registers.
         * */
#pragma unroll 1
    for (int r = 0; r < SPAN_H; r++)
        add_row(source, &tile, &weights, r, sums);
#pragma unroll
    for (int row = 0; row < ROWS; row++)
        store_row(result, &tile, row, sums[row] EPILOGUE_ARGUMENTS);
#endif
}
