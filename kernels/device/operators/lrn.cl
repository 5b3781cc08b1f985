/*
 * Local response normalisation over channels: x / (BIAS + ALPHA / SIZE * s) ^ BETA, where s is the sum of the squares of
 * SIZE neighbouring channels, of which (SIZE - 1) / 2, rounded down, come before the element's own.
 *
 * Options: those of pieces.h.
 */
#include "pieces.h"

KERNEL(ITEMS, 1, 1)
lrn(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
    PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3, i64 x_4, i64 x_c, int c_count,
    int size, float alpha_share, float beta, float bias EPILOGUE_PARAMETERS)
{
    PIECE_TABLES;
    /* The channel's own share in an offset is added for each neighbour. */
    const i64 x_strides[5] = {C_AXIS == 0 ? 0 : x_0, C_AXIS == 1 ? 0 : x_1, C_AXIS == 2 ? 0 : x_2,
                              C_AXIS == 3 ? 0 : x_3, C_AXIS == 4 ? 0 : x_4};
    const i64 unit = UNIT_OF(X_UNIT, x_strides);
    FOR_PIECES(place)
    GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, 1);
    VALUE values[VECTOR];
    FOR_LANES(lane, place)
    {
        const int channel = COORDINATE(place, C_AXIS) + (C_AXIS == RANK - 1 ? lane : 0);
        const i64 moved = C_AXIS == RANK - 1 ? 0 : lane * unit;
        const int first = channel - (size - 1) / 2, end = first + size;
        float sum = 0;
        for (int c = first < 0 ? 0 : first; c < (end < c_count ? end : c_count); c++) {
            float element = (float)LOAD(TYPE_X, from, moved + channel_offset(c, BLOCK_X, x_c));
            sum += element * element;
        }
        values[lane] =
            (float)LOAD(TYPE_X, from, moved + channel_offset(channel, BLOCK_X, x_c)) *
            function_exp(-beta * function_log(bias + alpha_share * sum));
    }
    PIECE_STORE(place, values);
    END_PIECES
}
