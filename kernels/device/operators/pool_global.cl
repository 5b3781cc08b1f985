/*
 * Pools whose window is the whole image: the largest or the mean of all positions of each image's channel.
 *
 *   ITEMS > 1   for GPUs: PARTS work-items share a result. They take positions in turns, and join what they have in local
 *               memory.
 *   ITEMS 1     for CPUs: LANES results, or LANES parts of a result, run side by side.
 *
 * Options: those of pieces.h, whose axes are N and C, with VECTOR and PIECES 1; MEAN: 0 the largest, 1 the mean; LANE (int
 * or float), what elements are compared or summed as; PARTS, a power of two; RESULTS_ARE_NEAR: neighbouring results lie
 * side by side in x (channels last), else positions do; IS_LINE: positions are one axis of stride x_w.
 */
#include "pieces.h"

#if MEAN
#define FIRST      0
#define JOIN(a, b) ((a) + (b))
#else
#define FIRST      DIALECT_JOIN(LOWEST_, LANE)
#define JOIN(a, b) ((a) > (b) ? (a) : (b))
#endif
#define LOWEST_int   (-2147483647 - 1)
#define LOWEST_float lowest_float()

/* Offset of the position with this number. */
#if IS_LINE
#define POSITION(at) ((at) * x_w)
#else
#define POSITION(at)                                                                               \
    ((at) % in_w * x_w + (at) / in_w % in_h * x_h + (at) / in_w / in_h * x_d)
#endif

#if MEAN
#define RESULT(sum) ((VALUE)(sum) / (VALUE)count)
#else
#define RESULT(sum) ((VALUE)(sum))
#endif

#define STORE_RESULT(place, sum)                                                                   \
    y[place_offset(&place, y_strides, 1)] =                                                        \
        FINISHED(RESULT(sum), COORDINATE(place, C_AXIS), place_offset(&place, r_strides, 1))

KERNEL(ITEMS, 1, 1)
pool_global(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
            PIECE_PARAMETERS, i64 x_0, i64 x_1, i64 x_2, i64 x_3, i64 x_4, i64 x_d, i64 x_h,
            i64 x_w, int in_d, int in_h, int in_w EPILOGUE_PARAMETERS)
{
#if ITEMS > 1
    LOCAL_ARRAY LANE shared[ITEMS];
#endif
    PIECE_TABLES;
    const i64 x_strides[5] = {x_0, x_1, x_2, x_3, x_4};
    const int count = in_d * in_h * in_w;
#if ITEMS > 1
    const int results = ITEMS / PARTS, item = (int)LOCAL_ID(0);
    const int part = RESULTS_ARE_NEAR ? item / results : item % PARTS;
    const int part_step = RESULTS_ARE_NEAR ? results : 1;
    const INDEX result =
        (INDEX)GROUP_ID(0) * results + (RESULTS_ARE_NEAR ? item % results : item / PARTS);
    const int is_there = result < piece_count;
    const struct place place = place_of(is_there ? result : 0, sizes);
    GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, 1);
    LANE sum = FIRST;
    for (int at = part; at < count; at += PARTS) {
        LANE element = (LANE)LOAD(TYPE_X, from, POSITION(at));
        sum = JOIN(sum, element);
    }
    shared[item] = sum;
    BARRIER();
    for (int reach = PARTS / 2; reach > 0; reach /= 2) {
        if (part < reach) {
            LANE other = shared[item + reach * part_step];
            sum = JOIN(sum, other);
            shared[item] = sum;
        }
        BARRIER();
    }
    if (is_there && part == 0)
        STORE_RESULT(place, sum);
#elif RESULTS_ARE_NEAR
    const INDEX first = (INDEX)GROUP_ID(0) * PARTS;
    /* Results that are side by side: those of one image. */
    for (INDEX done = 0; done < PARTS && first + done < piece_count;) {
        struct place place = place_of(first + done, sizes);
        const int line = sizes[RANK - 1] - place.at[RANK - 1];
        int lanes = PARTS - (int)done;
        LANE sums[PARTS];
        GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, 1);
        lanes = lanes < line ? lanes : line;
        for (int lane = 0; lane < lanes; lane++)
            sums[lane] = FIRST;
        for (int at = 0; at < count; at++) {
            GLOBAL const STORAGE(TYPE_X) *row = from + POSITION(at);
            for (int lane = 0; lane < lanes; lane++) {
                LANE element = (LANE)LOAD(TYPE_X, row, lane);
                sums[lane] = JOIN(sums[lane], element);
            }
        }
        for (int lane = 0; lane < lanes; lane++) {
            STORE_RESULT(place, sums[lane]);
            place.at[RANK - 1]++;
        }
        done += lanes;
    }
#else
    const INDEX result = (INDEX)GROUP_ID(0);
    const struct place place = place_of(result, sizes);
    GLOBAL const STORAGE(TYPE_X) *from = x + place_offset(&place, x_strides, 1);
    LANE sums[PARTS], sum = FIRST;
    int at = 0;
    for (int lane = 0; lane < PARTS; lane++)
        sums[lane] = FIRST;
    for (; at + PARTS <= count; at += PARTS) {
        for (int lane = 0; lane < PARTS; lane++) {
            LANE element = (LANE)LOAD(TYPE_X, from, POSITION(at + lane));
            sums[lane] = JOIN(sums[lane], element);
        }
    }
    for (; at < count; at++) {
        LANE element = (LANE)LOAD(TYPE_X, from, POSITION(at));
        sum = JOIN(sum, element);
    }
    for (int lane = 0; lane < PARTS; lane++)
        sum = JOIN(sum, sums[lane]);
    STORE_RESULT(place, sum);
#endif
}
