/*
 * Helpers for coordinates: splitting a flat index, finding the output position that reads an input position, offsets
 * in layouts with channels in blocks (NCHWc).
 */
#include "dialect.h"

/* Splits the fastest coordinate off a flat index: returns *rest modulo `count` and divides *rest by `count`. */
DEVICE int take(int *rest, int count)
{
    int coordinate = *rest % count;
    *rest /= count;
    return coordinate;
}

/* take() for a 64-bit index. */
DEVICE int take_long(i64 *rest, int count)
{
    int coordinate = (int)(*rest % count);
    *rest /= count;
    return coordinate;
}

/* The output position that reads input position `in` through filter position f, or -1. */
DEVICE int source_of(int in, int f, int out, int pad, int stride, int dilation)
{
    int at = in + pad - f * dilation;
    if (at < 0 || at % stride != 0 || at / stride >= out)
        return -1;
    return at / stride;
}

/* Offset in elements of channel c in a layout whose channels come in blocks of `block` (NCHWc); `stride` is the
 * distance of two blocks. */
DEVICE i64 channel_offset(int c, int block, i64 stride)
{
    return block == 1 ? c * stride : c / block * stride + c % block;
}
