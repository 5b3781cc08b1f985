/*
 * Copies x with its padding into a workspace so that strided convolutions read neighbouring inputs as
 * neighbours: each plane is divided into phases, one for each remainder modulo the stride that filter positions have.
 * Phase (ph, pw) holds at (row, column)
 *   x[row * stride_h + ph * dilation_h % stride_h - pad_h][likewise for w]
 * or 0 outside of x. The copy is [n * c][phases_h][phases_w][rows][pitch]. The shape is given by arguments: one
 * binary serves all problems.
 */
#include "dialect.h"

/* Grid: phases_w, phases_h, n * c. */
KERNEL(1, 1, 1) conv_cpu_pack_x(GLOBAL const float *RESTRICT x, GLOBAL float *RESTRICT packed,
                            int in_h, int in_w, int phases_h, int phases_w, int rows, int pitch,
                            int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                            int dilation_w)
{
    int phase_w = (int)GROUP_ID(0), phase_h = (int)GROUP_ID(1), plane = (int)GROUP_ID(2);
    int first_h = phase_h * dilation_h % stride_h - pad_h;
    int first_w = phase_w * dilation_w % stride_w - pad_w;
    /* Only columns from `begin` up to `end` of a row of the copy read inside x; the others are padding. */
    int begin = first_w < 0 ? (-first_w + stride_w - 1) / stride_w : 0;
    int end = first_w < in_w ? (in_w - 1 - first_w) / stride_w + 1 : 0;
    begin = begin < pitch ? begin : pitch;
    end = end < pitch ? end : pitch;
    packed += ((plane * phases_h + phase_h) * phases_w + phase_w) * rows * pitch;
    x += plane * in_h * in_w;
    for (int row = 0; row < rows; row++, packed += pitch) {
        int ih = row * stride_h + first_h;
        int from = ih >= 0 && ih < in_h && begin < end ? begin : pitch;
        int to = from < pitch ? end : pitch;
        GLOBAL const float *source = x + (ih * in_w + first_w);
        for (int column = 0; column < from; column++)
            packed[column] = 0.0f;
        if (stride_w == 1) {
            for (int column = from; column < to; column++)
                packed[column] = source[column];
        } else {
            for (int column = from; column < to; column++)
                packed[column] = source[column * stride_w];
        }
        for (int column = to; column < pitch; column++)
            packed[column] = 0.0f;
    }
}
