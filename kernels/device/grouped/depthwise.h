/*
 * What the two kernels of depthwise convolutions share: how the lanes of a
 * vector lie in memory, and rows of a tensor in registers, zero outside of it.
 *
 * A vector's lanes run along the axis that is densest in memory: LANES_W,
 * LANES_C or LANES_N. With LANES_W a row is a row of numbers, taken apart by its
 * phase within the stride so that what a vector needs lies side by side in it;
 * else it is a row of vectors. The tile that is computed from a row covers
 * POSITIONS positions, SOURCE_STEP_W apart in the row, each read through CHUNK_W
 * taps that lie TAP_STEP_W apart.
 *
 * Options: LANES_W, LANES_C or LANES_N; VEC, LANE, TILE_W (vectors of a tile's
 * row), CHUNK_W. SOURCE, SOURCE_STEP_W and TAP_STEP_W are defined before.
 */
#include "coordinates.h"

/* Positions of a row that a vector covers, and a tile. */
#ifdef LANES_W
#define VECTOR_POSITIONS VEC
#else
#define VECTOR_POSITIONS 1
#endif
#define POSITIONS (TILE_W * VECTOR_POSITIONS)

#define TILE_STEP_W (POSITIONS > 1 ? SOURCE_STEP_W : 1)
#define SPAN_W ((POSITIONS - 1) * TILE_STEP_W + (CHUNK_W - 1) * TAP_STEP_W + 1)

#ifdef LANES_W
#define PHASE_LENGTH ((SPAN_W + TILE_STEP_W - 1) / TILE_STEP_W)
#define ROW_LENGTH (PHASE_LENGTH * TILE_STEP_W)
#define ROW_PLACE(i) ((i) % TILE_STEP_W * PHASE_LENGTH + (i) / TILE_STEP_W)
/* What vector v of the tile reads through a tap of the chunk. */
#define ROW_AT(row, v, tap) vec_load((row) + ROW_PLACE((tap) * TAP_STEP_W) + (v) * VEC)
typedef LANE row_element;
#define SPREAD_ROW(value) (value)
#else
#define ROW_LENGTH SPAN_W
#define ROW_PLACE(i) (i)
#define ROW_AT(row, v, tap) (row)[(v) * TILE_STEP_W + (tap) * TAP_STEP_W]
typedef vec row_element;
#define SPREAD_ROW(value) vec_splat(value)
#endif

DEVICE int divide_up(int count, int by)
{
    return (count + by - 1) / by;
}

/* How far a vector's lanes lie from a place, and whether side by side. */
struct lanes {
    i64 at[VEC];
    int together;
};

/* Of VEC indices from `first` on; `sharers` of them in a row lie at the same place. Those past the
 * last of `count` lie where that one does. */
DEVICE void find_lanes(int first, int count, int sharers, i64 step, struct lanes *lanes)
{
    lanes->together = 1;
#pragma unroll
    for (int i = 0; i < VEC; i++) {
        int index = first + i < count ? first + i : count - 1;
        lanes->at[i] = index / sharers * step;
        lanes->together &= lanes->at[i] == lanes->at[0] + i;
    }
}

#define DEFINE_LOAD_LANES(name, type)                                                              \
    DEVICE vec name(GLOBAL const STORAGE(type) *tensor, i64 at, const struct lanes *lanes)         \
    {                                                                                              \
        LANE values[VEC];                                                                          \
        if (VEC > 1 && lanes->together) {                                                          \
            tensor += at + lanes->at[0];                                                           \
            for (int i = 0; i < VEC; i++)                                                          \
                values[i] = LOAD(type, tensor, i);                                                 \
        } else {                                                                                   \
            for (int i = 0; i < VEC; i++)                                                          \
                values[i] = LOAD(type, tensor, at + lanes->at[i]);                                 \
        }                                                                                          \
        return vec_load(values);                                                                   \
    }

#ifndef LANES_W
DEFINE_LOAD_LANES(load_source, SOURCE)
#endif

/* A row of a tensor: where its first position is, how far the next, how many there are. */
struct line {
    i64 at, step;
    int size;
    int inside; /* 0 where there is no such row: all of it is zero */
};

#if ROWS_IN_MEMORY

/* Lays SPAN_W positions from `first` on into row[], zero where there are none. */
DEVICE void stage_row(GLOBAL const STORAGE(SOURCE) *source, const struct line *line,
                      const struct lanes *lanes, int first, row_element *row)
{
    int end = line->inside && line->size > first ? line->size - first : 0;
    int begin = first < 0 ? -first : 0;
    end = end < SPAN_W ? end : SPAN_W;
    begin = begin < end ? begin : end;
#pragma unroll 1
    for (int i = 0; i < begin; i++)
        row[ROW_PLACE(i)] = SPREAD_ROW(0);
#ifdef LANES_W
    source += line->at + first * line->step;
    if (TILE_STEP_W == 1 && line->step == 1) {
        for (int i = begin; i < end; i++)
            row[i] = LOAD(SOURCE, source, i);
    } else {
#pragma unroll 1
        for (int i = begin; i < end; i++)
            row[ROW_PLACE(i)] = LOAD(SOURCE, source, i * line->step);
    }
#else
#pragma unroll 1
    for (int i = begin; i < end; i++)
        row[i] = load_source(source, line->at + (first + i) * line->step, lanes);
#endif
#pragma unroll 1
    for (int i = end; i < SPAN_W; i++)
        row[ROW_PLACE(i)] = SPREAD_ROW(0);
}

#else

/* The same free of branches, so that compilers load but once what is read twice. Places follow from
 * each other: as multiples of the step, which all rows share, they would all be kept in registers. */
DEVICE void stage_row(GLOBAL const STORAGE(SOURCE) *source, const struct line *line,
                      const struct lanes *lanes, int first, row_element *row)
{
    i64 next = line->at + first * line->step;
#pragma unroll
    for (int i = 0; i < SPAN_W; i++, next += line->step) {
        int inside = line->inside & (first + i >= 0) & (first + i < line->size);
        i64 at = inside ? next : 0;
#ifdef LANES_W
        row_element value = LOAD(SOURCE, source, at);
#else
        row_element value = load_source(source, at, lanes);
#endif
        row[ROW_PLACE(i)] = inside ? value : SPREAD_ROW(0);
    }
}

#endif
