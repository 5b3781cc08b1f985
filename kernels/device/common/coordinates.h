/*
 * Coordinates: taking them off a flat index, positions that a convolution combines, channels in blocks.
 */
#include "dialect.h"

/* Takes the fastest remaining coordinate off a flat index. */
DEVICE int take(int *rest, int count)
{
    int coordinate = *rest % count;
    *rest /= count;
    return coordinate;
}

/* The same for an index of 64 bits. */
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

/* Offset of channel c where channels are in blocks of `block`, the block innermost. */
DEVICE i64 channel_offset(int c, int block, i64 stride)
{
    return block == 1 ? c * stride : c / block * stride + c % block;
}
