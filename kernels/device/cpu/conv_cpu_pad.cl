/*
 * Copies an input tensor with its padding into a workspace, so that a convolution reads numbers of one type,
 * neighbours next to each other, and needs no checks for edges. Each channel is divided into phases, one for each
 * remainder modulo the stride that filter positions have; phase (pd, ph, pw) holds at (depth, row, column)
 *   in[depth * stride_d + pd * dilation_d % stride_d - pad_d][likewise h, w]
 * or 0 outside. Where `spread` is above 1, the input's elements are placed that far apart with zeros between
 * (backward data). The copy is [n][channels][phases_d][phases_h][phases_w][size_d][size_h][size_w].
 *
 * Options: TYPE, the input's type; LANE, the copy's. Everything else is an argument; `block` is the channel
 * block of the input's layout.
 */
#include "coordinates.h"

#ifndef LANE
#define LANE float
#endif

/* Channels that a work-item copies: enough to use whole cache lines where channels are innermost. */
#define CHANNELS 16

/* One axis of the copy: its size, and the rule by which a position of the copy reads a position of the input. */
struct axis {
    int size, in, first, step, spread;
};

/* The input position that a position of the copy holds, or -1 where the copy holds zero. */
DEVICE int input_at(const struct axis *axis, int position)
{
    int at = axis->first + position * axis->step;
    if (at < 0 || at % axis->spread != 0 || at / axis->spread >= axis->in)
        return -1;
    return at / axis->spread;
}

/* Copies one row of one channel. */
DEVICE void copy_row(GLOBAL const STORAGE(TYPE) * in, i64 in_w, const struct axis *axis,
                     GLOBAL LANE *row)
{
    int begin = 0, end = axis->size;
    if (axis->spread > 1) {
        for (int i = 0; i < axis->size; i++) {
            int at = input_at(axis, i);
            row[i] = at < 0 ? (LANE)0 : (LANE)LOAD(TYPE, in, at * in_w);
        }
        return;
    }
    if (axis->first < 0)
        begin = (-axis->first + axis->step - 1) / axis->step;
    if (begin > axis->size)
        begin = axis->size;
    if (axis->first + (end - 1) * axis->step >= axis->in)
        end = axis->first < axis->in ? (axis->in - 1 - axis->first) / axis->step + 1 : 0;
    if (end < begin)
        end = begin;
    for (int i = 0; i < begin; i++)
        row[i] = (LANE)0;
    in += axis->first * in_w;
    in_w *= axis->step;
    if (in_w == 1) {
        for (int i = begin; i < end; i++)
            row[i] = (LANE)LOAD(TYPE, in, i);
    } else {
        for (int i = begin; i < end; i++)
            row[i] = (LANE)LOAD(TYPE, in, i * in_w);
    }
    for (int i = end; i < axis->size; i++)
        row[i] = (LANE)0;
}

/* copy_row() for a row of `count` channels that are innermost in memory. */
DEVICE void copy_pixels(GLOBAL const STORAGE(TYPE) * in, i64 in_w, const struct axis *axis,
                        GLOBAL LANE *row, i64 plane, int count)
{
    for (int i = 0; i < axis->size; i++) {
        int at = input_at(axis, i);
        for (int c = 0; c < count; c++)
            row[c * plane + i] = at < 0 ? (LANE)0 : (LANE)LOAD(TYPE, in, at * in_w + c);
    }
}

/* Grid: phases, blocks of CHANNELS channels, images. */
KERNEL(1, 1, 1) conv_cpu_pad(GLOBAL const STORAGE(TYPE) * RESTRICT in, GLOBAL LANE *RESTRICT copy,
                             i64 in_n, i64 in_c, i64 in_d, i64 in_h, i64 in_w, int block, int channels,
                             int count_d, int count_h, int count_w, int phases_d, int phases_h,
                             int phases_w, int size_d, int size_h, int size_w, int pad_d, int pad_h,
                             int pad_w, int stride_d, int stride_h, int stride_w, int dilation_d,
                             int dilation_h, int dilation_w, int spread_d, int spread_h,
                             int spread_w)
{
    int phase = (int)GROUP_ID(0), first_c = (int)GROUP_ID(1) * CHANNELS, n = (int)GROUP_ID(2);
    int phase_h = phase / phases_w % phases_h, phase_d = phase / phases_w / phases_h;
    int count = channels - first_c < CHANNELS ? channels - first_c : CHANNELS;
    int side_by_side = block == 1 && in_c == 1;
    i64 volume = (i64)size_d * size_h * size_w;
    i64 plane = volume * phases_d * phases_h * phases_w;
    struct axis d, h, w;
    d.size = size_d;
    d.in = count_d;
    d.first = phase_d * dilation_d % stride_d - pad_d;
    d.step = stride_d;
    d.spread = spread_d;
    h.size = size_h;
    h.in = count_h;
    h.first = phase_h * dilation_h % stride_h - pad_h;
    h.step = stride_h;
    h.spread = spread_h;
    w.size = size_w;
    w.in = count_w;
    w.first = phase % phases_w * dilation_w % stride_w - pad_w;
    w.step = stride_w;
    w.spread = spread_w;
    in += n * in_n;
    copy += ((i64)n * channels + first_c) * plane + phase * volume;
    for (int depth = 0; depth < size_d; depth++) {
        int id = input_at(&d, depth);
        for (int row = 0; row < size_h; row++, copy += size_w) {
            int ih = id < 0 ? -1 : input_at(&h, row);
            GLOBAL const STORAGE(TYPE) *from = in + (ih < 0 ? 0 : id * in_d + ih * in_h);
            if (ih < 0) {
                for (int c = 0; c < count; c++)
                    for (int i = 0; i < size_w; i++)
                        copy[c * plane + i] = (LANE)0;
            } else if (side_by_side) {
                copy_pixels(from + first_c, in_w, &w, copy, plane, count);
            } else {
                for (int c = 0; c < count; c++) {
                    i64 at = channel_offset(first_c + c, block, in_c);
                    copy_row(from + at, in_w, &w, copy + c * plane);
                }
            }
        }
    }
}
