/*
 * An operator on each element by itself: y = epilogue(x), in any types, layouts and strides. It copies, converts, scales,
 * adds and activates.
 *
 * Options: those of pieces.h. x has strides for the axes of y.
 */
#include "pieces.h"

KERNEL(ITEMS, 1, 1)
pointwise(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
          PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3, i64 x_4 EPILOGUE_PARAMETERS)
{
    PIECE_TABLES;
    const i64 x_strides[5] = {x_0, x_1, x_2, x_3, x_4};
    const i64 unit = UNIT_OF(X_UNIT, x_strides);
    FOR_PIECES(place)
    const i64 from = place_offset(&place, x_strides, BLOCK_X);
#if ITEMS == 1 || VECTOR == 1
    const i64 to = place_offset(&place, y_strides, BLOCK_Y);
    const i64 r_at = place_offset(&place, r_strides, BLOCK_R);
    const int channel = COORDINATE(place, C_AXIS);
    for (int lane = 0; lane < place.count; lane++)
        y[to + lane * UNIT_OF(Y_UNIT, y_strides)] =
            FINISHED((VALUE)LOAD(TYPE_X, x, from + lane * unit),
                     channel + (C_AXIS == RANK - 1 ? lane : 0),
                     r_at + lane * UNIT_OF(R_UNIT, r_strides));
    (void)r_at;
    (void)channel;
#else
    VALUE values[VECTOR];
#if defined(__OPENCL_VERSION__)
    FOR_LANES(lane, place)
    values[lane] = (VALUE)LOAD(TYPE_X, x, from + lane * unit);
#else
    struct piece_of_x piece = piece_load(x + from, place.count, unit);
    FOR_LANES(lane, place)
    values[lane] = (VALUE)LOAD(TYPE_X, piece.at, lane);
#endif
    PIECE_STORE(place, values);
#endif
    END_PIECES
}
