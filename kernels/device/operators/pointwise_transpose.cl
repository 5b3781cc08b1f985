/*
 * Pointwise operators whose x and y are contiguous along different axes, as NCHW and NHWC are. A workgroup computes blocks
 * of TILE by TILE elements of both axes. On a GPU a block goes through local memory, so that x and y are both accessed in
 * order; on a CPU a block stays in the cache.
 *
 * Options: those of pieces.h, with VECTOR 1 and PIECES 1; NEAR_AXIS, the axis along which x is contiguous; TILE.
 */
#include "pieces.h"

#define PITCH (TILE + 1)

KERNEL(ITEMS, 1, 1)
pointwise_transpose(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
                    PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3,
                    i64 x_4 EPILOGUE_PARAMETERS)
{
#if ITEMS > 1
    LOCAL_ARRAY STORAGE(TYPE_X) tile[TILE * PITCH];
#endif
    PIECE_TABLES;
    const i64 x_strides[5] = {x_0, x_1, x_2, x_3, x_4};
    const int near_blocks = (sizes[NEAR_AXIS] + TILE - 1) / TILE;
    const int last_blocks = (sizes[RANK - 1] + TILE - 1) / TILE;
    i64 rest = (i64)GROUP_ID(0);
    struct place place;
    int near_count, last_count;
    i64 from, to;
    place.at[RANK - 1] = take_long(&rest, last_blocks) * TILE;
    place.at[NEAR_AXIS] = take_long(&rest, near_blocks) * TILE;
#pragma unroll
    for (int a = RANK - 2; a >= 0; a--)
        if (a != NEAR_AXIS)
            place.at[a] = take_long(&rest, sizes[a]);
    near_count = sizes[NEAR_AXIS] - place.at[NEAR_AXIS];
    last_count = sizes[RANK - 1] - place.at[RANK - 1];
    near_count = near_count < TILE ? near_count : TILE;
    last_count = last_count < TILE ? last_count : TILE;
    from = place_offset(&place, x_strides, 1);
    to = place_offset(&place, y_strides, 1);
#ifdef EP_RESIDUAL
    const i64 r_at = place_offset(&place, r_strides, 1);
#else
    const i64 r_at = 0;
#endif
    (void)piece_count;
#if ITEMS > 1
    for (int i = (int)LOCAL_ID(0); i < TILE * TILE; i += ITEMS) {
        const int near = i % TILE, last = i / TILE;
        if (near < near_count && last < last_count)
            tile[last * PITCH + near] = x[from + near + last * x_strides[RANK - 1]];
    }
    BARRIER();
    for (int i = (int)LOCAL_ID(0); i < TILE * TILE; i += ITEMS) {
        const int near = i / TILE, last = i % TILE;
        if (near < near_count && last < last_count)
            y[to + near * y_strides[NEAR_AXIS] + last] =
                FINISHED((VALUE)LOAD(TYPE_X, tile, last * PITCH + near),
                         COORDINATE(place, C_AXIS) + (C_AXIS == RANK - 1  ? last
                                                      : C_AXIS == NEAR_AXIS ? near
                                                                            : 0),
                         r_at + near * r_strides[NEAR_AXIS] +
                             last * UNIT_OF(R_UNIT, r_strides));
    }
#else
    for (int near = 0; near < near_count; near++)
        for (int last = 0; last < last_count; last++)
            y[to + near * y_strides[NEAR_AXIS] + last] =
                FINISHED((VALUE)LOAD(TYPE_X, x, from + near + last * x_strides[RANK - 1]),
                         COORDINATE(place, C_AXIS) + (C_AXIS == RANK - 1  ? last
                                                      : C_AXIS == NEAR_AXIS ? near
                                                                            : 0),
                         r_at + near * r_strides[NEAR_AXIS] +
                             last * UNIT_OF(R_UNIT, r_strides));
#endif
}
