/*
 * The softmax of x over its channels, or its logarithm, where PARTS work-items share a row. The channels of a row are
 * dealt out to them in turns.
 *
 * Options: those of pieces.h, whose axes lack the channels, with VECTOR 1 and PIECES 1; LOGARITHM: 0 or 1; PARTS: a power
 * of two; CHANNELS_ARE_NEAR: 1 where neighbouring work-items take neighbouring channels, 0 where they take neighbouring
 * rows.
 */
#include "pieces.h"

#define ROWS (ITEMS / PARTS)

KERNEL(ITEMS, 1, 1)
softmax_group(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
              PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3, i64 x_4, int c_count, i64 x_c,
              i64 y_c, i64 r_c EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY float shared[ITEMS];
    PIECE_TABLES;
    const i64 x_strides[5] = {x_0, x_1, x_2, x_3, x_4};
    const int item = (int)LOCAL_ID(0);
    const int part = CHANNELS_ARE_NEAR ? item % PARTS : item / ROWS;
    const int part_step = CHANNELS_ARE_NEAR ? 1 : ROWS;
    const INDEX row = (INDEX)GROUP_ID(0) * ROWS + (CHANNELS_ARE_NEAR ? item / PARTS : item % ROWS);
    const int is_there = row < piece_count;
    const struct place place = place_of(is_there ? row : 0, sizes);
    GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, 1);
    float best = lowest_float(), sum = 0;
    for (int c = part; c < c_count; c += PARTS) {
        float element = (float)LOAD(TYPE_X, from, c * x_c);
        best = element > best ? element : best;
    }
    shared[item] = best;
    BARRIER();
    for (int reach = PARTS / 2; reach > 0; reach /= 2) {
        if (part < reach) {
            float other = shared[item + reach * part_step];
            best = other > best ? other : best;
            shared[item] = best;
        }
        BARRIER();
    }
    best = shared[item - part * part_step];
    for (int c = part; c < c_count; c += PARTS)
        sum += function_exp((float)LOAD(TYPE_X, from, c * x_c) - best);
    BARRIER();
    shared[item] = sum;
    BARRIER();
    for (int reach = PARTS / 2; reach > 0; reach /= 2) {
        if (part < reach) {
            sum += shared[item + reach * part_step];
            shared[item] = sum;
        }
        BARRIER();
    }
    sum = shared[item - part * part_step];
    sum = LOGARITHM ? function_log(sum) : 1.0f / sum;
    if (is_there) {
        const i64 to = place_offset(&place, y_strides, 1);
        const i64 r_at = place_offset(&place, r_strides, 1);
        for (int c = part; c < c_count; c += PARTS) {
            float element = (float)LOAD(TYPE_X, from, c * x_c) - best;
            float value = LOGARITHM ? element - sum : function_exp(element) * sum;
            y[to + c * y_c] = FINISHED(value, c, r_at + c * r_c);
        }
        (void)r_at;
    }
}
