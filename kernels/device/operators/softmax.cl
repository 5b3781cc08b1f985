/*
 * The softmax of x over its channels, or its logarithm: a work-item computes whole rows, which are all channels of a
 * position. The largest element is subtracted first, so that no power overflows.
 *
 * Options: those of pieces.h, whose axes lack the channels; LOGARITHM: 0 or 1; WIDTH: sums that run side by side along the
 * channels, where VECTOR is 1; else 1 and VECTOR positions run side by side.
 */
#include "pieces.h"

#if WIDTH > 1
#define LANES      WIDTH
#define COUNT_AT(c) (c_count - (c) < WIDTH ? c_count - (c) : WIDTH)
#define X_STEP     x_c
#else
#define LANES      VECTOR
#define COUNT_AT(c) place.count
#define X_STEP     x_unit
#endif

KERNEL(ITEMS, 1, 1)
softmax(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
        PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3, i64 x_4, int c_count, i64 x_c_given,
        i64 y_c_given, i64 r_c EPILOGUE_PARAMETERS)
{
    PIECE_TABLES;
    const i64 x_strides[5] = {x_0, x_1, x_2, x_3, x_4};
#if WIDTH > 1
    const i64 x_c = 1, y_c = 1;
    (void)x_c_given;
    (void)y_c_given;
#else
    const i64 x_c = x_c_given, y_c = y_c_given;
#endif
    const i64 x_unit = UNIT_OF(X_UNIT, x_strides), y_unit = UNIT_OF(Y_UNIT, y_strides);
    const i64 r_unit = UNIT_OF(R_UNIT, r_strides);
    FOR_PIECES(place)
    GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, BLOCK_X);
    const i64 to = place_offset(&place, y_strides, BLOCK_Y);
    const i64 r_at = place_offset(&place, r_strides, BLOCK_R);
    float best[LANES], sums[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        best[lane] = lowest_float();
        sums[lane] = 0;
    }
    for (int c = 0; c < c_count; c += WIDTH) {
        GLOBAL const STORAGE(TYPE_X) *at = from + channel_offset(c, BLOCK_X, x_c);
        int count = COUNT_AT(c);
        for (int lane = 0; lane < count; lane++) {
            float element = (float)LOAD(TYPE_X, at, lane * X_STEP);
            best[lane] = element > best[lane] ? element : best[lane];
        }
    }
#if WIDTH > 1
    for (int lane = 1; lane < LANES; lane++)
        best[0] = best[lane] > best[0] ? best[lane] : best[0];
    for (int lane = 1; lane < LANES; lane++)
        best[lane] = best[0];
#endif
    for (int c = 0; c < c_count; c += WIDTH) {
        GLOBAL const STORAGE(TYPE_X) *at = from + channel_offset(c, BLOCK_X, x_c);
        int count = COUNT_AT(c);
        for (int lane = 0; lane < count; lane++)
            sums[lane] += function_exp((float)LOAD(TYPE_X, at, lane * X_STEP) - best[lane]);
    }
#if WIDTH > 1
    for (int lane = 1; lane < LANES; lane++)
        sums[0] += sums[lane];
#endif
    for (int lane = LANES - 1; lane >= 0; lane--) {
        float sum = sums[WIDTH > 1 ? 0 : lane];
        sum = sum > 0 ? sum : 1.0f; /* a lane behind the piece's end */
        sums[lane] = LOGARITHM ? function_log(sum) : 1.0f / sum;
    }
    for (int c = 0; c < c_count; c += WIDTH) {
        GLOBAL const STORAGE(TYPE_X) *at = from + channel_offset(c, BLOCK_X, x_c);
        GLOBAL STORAGE(TYPE_Y) *y_at = y + to + channel_offset(c, BLOCK_Y, y_c);
        const i64 r_from = r_at + channel_offset(c, BLOCK_R, r_c);
        int count = COUNT_AT(c);
        for (int lane = 0; lane < count; lane++) {
            float element = (float)LOAD(TYPE_X, at, lane * X_STEP) - best[lane];
            float value = LOGARITHM ? element - sums[lane] : function_exp(element) * sums[lane];
            y_at[lane * (WIDTH > 1 ? y_c : y_unit)] =
                FINISHED(value, c + (WIDTH > 1 ? lane : 0),
                         r_from + lane * (WIDTH > 1 ? r_c : r_unit));
        }
        (void)r_from;
    }
    (void)r_unit;
    END_PIECES
}
