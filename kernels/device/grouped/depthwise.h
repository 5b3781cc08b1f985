/*
 * Shared by the two kernels of depthwise convolutions: the order of a vector's lanes in memory, and rows of a
 * tensor in registers, with zeros outside.
 *
 * A vector's lanes run along the axis that is densest in memory: LANES_W, LANES_C or LANES_N. With LANES_W a
 * row is a row of numbers, divided by phase within the stride so that a vector reads neighbours; else it is a
 * row of vectors. A tile covers POSITIONS positions, SOURCE_STEP_W apart in the row, each read through CHUNK_W
 * taps that are TAP_STEP_W apart.
 *
 * Options: LANES_W, LANES_C or LANES_N; VEC, LANE, TILE_W (vectors in a tile's row), CHUNK_W. SOURCE,
 * SOURCE_STEP_W and TAP_STEP_W are defined before.
 */
#include "coordinates.h"
#include "epilogue.h"

/* Positions along a row that one vector has lanes for, and that one tile has. */
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
/* Loads, as one vector, the source elements that vector v of the tile reads through tap number `tap` of the chunk. */
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

/* Offsets in elements of a vector's lanes from index 0 of their axis, and whether the lanes are neighbours in
 * memory. */
struct lanes {
    i64 at[VEC];
    int together;
};

/* The offsets of VEC indices from `first` on; `sharers` consecutive ones have the same offset. An index of `count` or
 * more gets the offset of index count - 1. */
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

/* A row of a tensor: offset of its first position, distance from position to position, number of positions. */
struct line {
    i64 at, step;
    int size;
    int inside; /* 0 for a row outside of the tensor, which is all zeros */
};

#if ROWS_IN_MEMORY

/* Copies SPAN_W positions from `first` on into row[], with zeros outside. */
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

/* stage_row() for a GPU, without branches, so that compilers merge repeated loads. Offsets are computed from each
 * other: as multiples of the step, which all rows share, they would all occupy registers. */
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
