/*
 * Pools: the largest or the mean element of each window of x. Every layout; x has its own strides.
 *
 * Options: those of pieces.h; MEAN: 0 the largest, 1 the mean without the padding, 2 the mean with the padding as zeros;
 * LANE (int or float), what elements are compared or summed as; LANES_ARE_W: the last axis is W, so that the elements of a
 * piece have windows of their own. WINDOW_IS_FIXED: FIL_, PAD_, STRIDE_ and DILATION_ with D, H and W are options, else
 * arguments. UNROLLED: the window is small enough to be unrolled.
 */
#include "pieces.h"

#ifdef WINDOW_IS_FIXED
#define WINDOW_PARAMETERS
#define fil_d      FIL_D
#define fil_h      FIL_H
#define fil_w      FIL_W
#define pad_d      PAD_D
#define pad_h      PAD_H
#define pad_w      PAD_W
#define stride_d   STRIDE_D
#define stride_h   STRIDE_H
#define stride_w   STRIDE_W
#define dilation_d DILATION_D
#define dilation_h DILATION_H
#define dilation_w DILATION_W
#else
#define WINDOW_PARAMETERS                                                                          \
    , int fil_d, int fil_h, int fil_w, int pad_d, int pad_h, int pad_w, int stride_d,              \
        int stride_h, int stride_w, int dilation_d, int dilation_h, int dilation_w
#endif

#if MEAN
#define FIRST      0
#define JOIN(a, b) ((a) + (b))
#else
#define FIRST      DIALECT_JOIN(LOWEST_, LANE)
#define JOIN(a, b) ((a) > (b) ? (a) : (b))
#endif
#define LOWEST_int   (-2147483647 - 1)
#define LOWEST_float lowest_float()

/* The first position of a window that begins at `start` and lies inside the tensor. */
DEVICE int first_inside(int start, int dilation)
{
    return start >= 0 ? 0 : (dilation - 1 - start) / dilation;
}

/* The number of its positions that lie before the tensor's end. */
DEVICE int end_inside(int start, int in, int fil, int dilation)
{
    int end = start >= in ? 0 : (in - 1 - start) / dilation + 1;
    return end < fil ? end : fil;
}

#if UNROLLED
#define FOR_TAPS(f, fil, first, end)                                                               \
    _Pragma("unroll") for (int f = 0; f < (fil); f++) if (f >= (first) && f < (end))
#else
#define FOR_TAPS(f, fil, first, end) for (int f = (first); f < (end); f++)
#endif

KERNEL(ITEMS, 1, 1)
pool(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
     PIECE_PARAMETERS, i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w, int in_d, int in_h,
     int in_w WINDOW_PARAMETERS EPILOGUE_PARAMETERS)
{
    PIECE_TABLES;
    const i64 x_unit = X_UNIT >= 0                ? (i64)X_UNIT
                       : C_AXIS == RANK - 1 ? x_c
                       : N_AXIS == RANK - 1 ? x_n
                       : W_AXIS == RANK - 1 ? x_w
                                            : 0;
#if LANES_ARE_W
    const i64 step = x_unit * stride_w, tap_w = x_unit * dilation_w;
#else
    const i64 step = x_unit, tap_w = x_w * dilation_w;
#endif
    FOR_PIECES(place)
    const int start_d = COORDINATE(place, D_AXIS) * stride_d - pad_d;
    const int start_h = COORDINATE(place, H_AXIS) * stride_h - pad_h;
    const int start_w = COORDINATE(place, W_AXIS) * stride_w - pad_w;
    const int first_d = first_inside(start_d, dilation_d), first_h = first_inside(start_h, dilation_h);
    const int end_d = end_inside(start_d, in_d, fil_d, dilation_d);
    const int end_h = end_inside(start_h, in_h, fil_h, dilation_h);
    const i64 window = COORDINATE(place, N_AXIS) * x_n +
                       channel_offset(COORDINATE(place, C_AXIS), BLOCK_X, x_c) + start_d * x_d +
                       start_h * x_h + start_w * x_w;
    LANE sums[VECTOR];
    VALUE values[VECTOR];
#if LANES_ARE_W
    /* The windows of the lanes from inner_first to inner_end lie inside along W. */
    const int reach_w = (fil_w - 1) * dilation_w;
    int inner_first = start_w >= 0 ? 0 : (stride_w - 1 - start_w) / stride_w;
    int inner_end = in_w - reach_w - 1 - start_w < 0 ? 0 : (in_w - reach_w - 1 - start_w) / stride_w + 1;
    inner_end = inner_end < place.count ? inner_end : place.count;
    inner_first = inner_first < inner_end ? inner_first : inner_end;
#else
    const int first_w = first_inside(start_w, dilation_w);
    const int end_w = end_inside(start_w, in_w, fil_w, dilation_w);
#endif
    FOR_LANES(lane, place)
    sums[lane] = FIRST;
    FOR_TAPS(fd, fil_d, first_d, end_d)
    {
        FOR_TAPS(fh, fil_h, first_h, end_h)
        {
            GLOBAL const STORAGE(TYPE_X) *row =
                x + window + fd * dilation_d * x_d + fh * dilation_h * x_h;
#if LANES_ARE_W
#if ITEMS == 1
            for (int lane = inner_first; lane < inner_end; lane++) {
                LANE sum = sums[lane];
                for (int fw = 0; fw < fil_w; fw++) {
                    LANE element = (LANE)LOAD(TYPE_X, row, lane * step + fw * tap_w);
                    sum = JOIN(sum, element);
                }
                sums[lane] = sum;
            }
            for (int lane = 0; lane < place.count; lane++) {
                int at, end;
                if (lane == inner_first)
                    lane = inner_end;
                if (lane >= place.count)
                    break;
                at = start_w + lane * stride_w;
                end = end_inside(at, in_w, fil_w, dilation_w);
                for (int fw = first_inside(at, dilation_w); fw < end; fw++) {
                    LANE element = (LANE)LOAD(TYPE_X, row, lane * step + fw * tap_w);
                    sums[lane] = JOIN(sums[lane], element);
                }
            }
#else
            if (inner_first == 0 && inner_end == VECTOR) {
                FOR_TAPS(fw, fil_w, 0, fil_w)
                {
#pragma unroll
                    for (int lane = 0; lane < VECTOR; lane++) {
                        LANE element = (LANE)LOAD(TYPE_X, row, lane * step + fw * tap_w);
                        sums[lane] = JOIN(sums[lane], element);
                    }
                }
            } else {
                FOR_TAPS(fw, fil_w, 0, fil_w)
                {
                    FOR_LANES(lane, place)
                    {
                        int at = start_w + lane * stride_w + fw * dilation_w;
                        if (at >= 0 && at < in_w) {
                            LANE element = (LANE)LOAD(TYPE_X, row, lane * step + fw * tap_w);
                            sums[lane] = JOIN(sums[lane], element);
                        }
                    }
                }
            }
#endif
#else
            FOR_TAPS(fw, fil_w, first_w, end_w)
            {
#if ITEMS > 1 && VECTOR > 1 && !defined(__OPENCL_VERSION__)
                struct piece_of_x piece = piece_load(row + fw * tap_w, place.count, step);
                FOR_LANES(lane, place)
                {
                    LANE element = (LANE)LOAD(TYPE_X, piece.at, lane);
                    sums[lane] = JOIN(sums[lane], element);
                }
#else
                GLOBAL const STORAGE(TYPE_X) *tap = row + fw * tap_w;
                FOR_LANES(lane, place)
                {
                    LANE element = (LANE)LOAD(TYPE_X, tap, lane * step);
                    sums[lane] = JOIN(sums[lane], element);
                }
#endif
            }
#endif
        }
    }
#if MEAN == 1
    {
        const int outer = (end_d - first_d) * (end_h - first_h);
        FOR_LANES(lane, place)
        {
#if LANES_ARE_W
            int at = start_w + lane * stride_w;
            int inner = end_inside(at, in_w, fil_w, dilation_w) - first_inside(at, dilation_w);
#else
            int inner = end_w - first_w;
#endif
            values[lane] = (VALUE)sums[lane] / (VALUE)(outer * inner);
        }
    }
#elif MEAN == 2
    FOR_LANES(lane, place)
    values[lane] = (VALUE)sums[lane] / (VALUE)(fil_d * fil_h * fil_w);
#else
    FOR_LANES(lane, place)
    values[lane] = (VALUE)sums[lane];
#endif
    PIECE_STORE(place, values);
    END_PIECES
}
