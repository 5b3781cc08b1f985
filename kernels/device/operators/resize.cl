/*
 * x in another size along D, H and W, by the rules of ONNX's Resize, where the scale is out / in on each axis. Positions in
 * x are fractions, which are computed in integers, so that nearest elements are exact.
 *
 * Options: those of pieces.h; LINEAR: 0 the nearest element, 1 between the two nearest on each axis; COORDINATES: 0
 * half_pixel, 1 pytorch_half_pixel, 2 asymmetric, 3 align_corners; ROUNDING of nearest: 0 floor, 1 ceil, 2
 * round_prefer_floor, 3 round_prefer_ceil; FRACTION, the integer type of fractions; LANES_ARE_W: the last axis is W.
 */
#include "pieces.h"

/* The quotient rounded down; by > 0. */
DEVICE FRACTION divide_down(FRACTION a, FRACTION by)
{
    FRACTION quotient = a / by;
    return quotient * by > a ? quotient - 1 : quotient;
}

DEVICE int clamp_position(FRACTION at, int in)
{
    return at < 0 ? 0 : at >= in ? in - 1 : (int)at;
}

/* The elements of x on an axis that an output position is made of: near + share * (far - near). */
struct source {
    int near, far;
    float share;
};

DEVICE struct source source_at(int position, int in, int out)
{
    struct source source;
    FRACTION above, below;
#if COORDINATES == 2
    above = (FRACTION)position * in;
    below = out;
#elif COORDINATES == 3
    above = out > 1 ? (FRACTION)position * (in - 1) : 0;
    below = out > 1 ? out - 1 : 1;
#else
    above = (FRACTION)(2 * (FRACTION)position + 1) * in - out;
    below = 2 * (FRACTION)out;
    if (COORDINATES == 1 && out == 1)
        above = 0;
#endif
#if LINEAR
    {
        FRACTION whole = divide_down(above, below);
        source.near = clamp_position(whole, in);
        source.far = clamp_position(whole + 1, in);
        source.share = (float)(above - whole * below) / (float)below;
    }
#else
#if ROUNDING == 0
    above = divide_down(above, below);
#elif ROUNDING == 1
    above = -divide_down(-above, below);
#elif ROUNDING == 2
    above = -divide_down(below - 2 * above, 2 * below);
#else
    above = divide_down(2 * above + below, 2 * below);
#endif
    source.near = clamp_position(above, in);
    source.far = source.near;
    source.share = 0;
#endif
    return source;
}

#if LINEAR
DEVICE float between(float near, float far, float share)
{
    return near + share * (far - near);
}
#endif

KERNEL(ITEMS, 1, 1)
resize(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL STORAGE(TYPE_Y) * RESTRICT y,
       PIECE_PARAMETERS, i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w, int in_d, int in_h, int in_w,
       int out_d, int out_h, int out_w EPILOGUE_PARAMETERS)
{
    PIECE_TABLES;
    /* along the last axis, unless that is W */
    const i64 step = LANES_ARE_W          ? 0
                     : X_UNIT >= 0        ? (i64)X_UNIT
                     : C_AXIS == RANK - 1 ? x_c
                     : N_AXIS == RANK - 1 ? x_n
                                          : 0;
    FOR_PIECES(place)
    const struct source d = source_at(COORDINATE(place, D_AXIS), in_d, out_d);
    const struct source h = source_at(COORDINATE(place, H_AXIS), in_h, out_h);
    GLOBAL const STORAGE(TYPE_X) *from =
        x + COORDINATE(place, N_AXIS) * x_n +
        channel_offset(COORDINATE(place, C_AXIS), BLOCK_X, x_c);
    GLOBAL const STORAGE(TYPE_X) *row = from + d.near * x_d + h.near * x_h;
#if LINEAR
    GLOBAL const STORAGE(TYPE_X) *row_h = from + d.near * x_d + h.far * x_h;
    GLOBAL const STORAGE(TYPE_X) *row_d = from + d.far * x_d + h.near * x_h;
    GLOBAL const STORAGE(TYPE_X) *row_dh = from + d.far * x_d + h.far * x_h;
#endif
    VALUE values[VECTOR];
#if !LANES_ARE_W
    const struct source w = source_at(COORDINATE(place, W_AXIS), in_w, out_w);
#endif
    FOR_LANES(lane, place)
    {
#if LANES_ARE_W
        const struct source w = source_at(COORDINATE(place, W_AXIS) + lane, in_w, out_w);
#endif
        const i64 near = w.near * x_w + lane * step;
#if LINEAR
        const i64 far = w.far * x_w + lane * step;
        float plane = between(
            between((float)LOAD(TYPE_X, row, near), (float)LOAD(TYPE_X, row, far), w.share),
            between((float)LOAD(TYPE_X, row_h, near), (float)LOAD(TYPE_X, row_h, far), w.share),
            h.share);
        if (D_AXIS >= 0)
            plane = between(plane,
                            between(between((float)LOAD(TYPE_X, row_d, near),
                                            (float)LOAD(TYPE_X, row_d, far), w.share),
                                    between((float)LOAD(TYPE_X, row_dh, near),
                                            (float)LOAD(TYPE_X, row_dh, far), w.share),
                                    h.share),
                            d.share);
        values[lane] = plane;
#else
        values[lane] = (VALUE)LOAD(TYPE_X, row, near);
#endif
    }
    PIECE_STORE(place, values);
    END_PIECES
}
