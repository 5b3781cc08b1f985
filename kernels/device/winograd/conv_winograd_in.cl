/*
 * Transforms patches of a tensor (x, y, or the filters) into Winograd's planes in the workspace. The patch of
 * tile (th, tw) begins at th * step - pad_h, tw * step - pad_w, and is zero outside of the tensor. With FLIP 1
 * the patch is mirrored, as backward data needs its filters. Columns from `columns` to `filled` are zeros.
 *
 * Options: TYPE, FLIP, BY_CHANNEL, VEC (columns of a work-item), ITEMS (of a workgroup), TRANSFORM
 * (winograd.h). Grid: `row_blocks` workgroups for each row of a plane.
 */
#include "winograd.h"

#if TAKES_PIECES && !FLIP && (TAKE(X6) || TAKE(W4_6))
#define LOADS_LINES 1
/* Values of a patch's line before the first aligned piece of four: patches of 6 begin one position before a multiple
 * of 4. */
enum { BEFORE = FROM == 6 ? 1 : 0 };

/* Loads the FROM values of a patch's line from position w on, with zeros outside of the width: BEFORE values, then
 * pieces of four. For a line outside of the tensor callers pass width 0. */
DEVICE void load_line(GLOBAL const float *from, int w, int width, int piece, float *values)
{
    const struct quad none = {{0, 0, 0, 0}};
    struct quad quad = none;
    int middle = w + BEFORE;
    if (piece == 4 && middle + 4 <= width) {
        quad = *(GLOBAL const struct quad *)(from + middle);
    } else {
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            if (piece >= 2 && middle + j + 2 <= width) {
                const struct pair pair = *(GLOBAL const struct pair *)(from + middle + j);
                quad.lane[j] = pair.lane[0];
                quad.lane[j + 1] = pair.lane[1];
            } else {
                quad.lane[j] = middle + j < width ? from[middle + j] : 0;
                quad.lane[j + 1] = middle + j + 1 < width ? from[middle + j + 1] : 0;
            }
        }
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        values[BEFORE + j] = quad.lane[j];
    if (FROM == 6) {
        values[0] = w >= 0 && w < width ? from[w] : 0;
        values[FROM - 1] = w + 5 < width ? from[w + 5] : 0;
    }
}
#else
#define LOADS_LINES 0
#endif

/* Loads the patch that begins at row first_h and column first_w; its values are stored VEC apart, one lane of each
 * vector. */
DEVICE void load_patch(GLOBAL const STORAGE(TYPE) *from, i64 h_stride, i64 w_stride, int height,
                       int width, int first_h, int first_w, float *values)
{
#pragma unroll UNROLL_FROM
    for (int i = 0; i < FROM; i++) {
        int h = first_h + (FLIP ? FROM - 1 - i : i);
        int h_inside = h >= 0 && h < height;
#pragma unroll UNROLL_FROM
        for (int j = 0; j < FROM; j++) {
            int w = first_w + (FLIP ? FROM - 1 - j : j);
            float value = 0;
            if (h_inside && w >= 0 && w < width)
                value = LOAD(TYPE, from, h * h_stride + w * w_stride);
            values[(i * FROM + j) * VEC] = value;
        }
    }
}

KERNEL(ITEMS, 1, 1)
conv_winograd_in(GLOBAL const STORAGE(TYPE) *RESTRICT tensor, GLOBAL float *RESTRICT planes,
                 i64 image_stride, i64 channel_stride, i64 h_stride, i64 w_stride, int columns,
                 int height, int width, int tiles_h, int tiles_w, int step, int pad_h, int pad_w,
                 int filled, int row_blocks, i64 pitch, i64 plane)
{
    int row = (int)GROUP_ID(0) / row_blocks;
    int first = ((int)GROUP_ID(0) % row_blocks * ITEMS + (int)LOCAL_ID(0)) * VEC;
    float lanes[FROM * FROM * VEC];
    vec patch[FROM * FROM], result[TO * TO];
    if (first >= filled)
        return;
    for (int lane = 0; lane < VEC; lane++) {
        int at = first + lane < columns ? first + lane : columns - 1;
        struct place place = find_place(row, at, tiles_h, tiles_w);
        int first_h = place.tile_h * step - pad_h, first_w = place.tile_w * step - pad_w;
        GLOBAL const STORAGE(TYPE) *from =
            tensor + place.image * image_stride + place.channel * channel_stride;
#if LOADS_LINES
        if (w_stride == 1 && step == 4 && pad_w == BEFORE) {
            int piece = piece_of((i64)tensor, image_stride, channel_stride, h_stride, w_stride);
#pragma unroll UNROLL_FROM
            for (int i = 0; i < FROM; i++) {
                int h = first_h + i;
                load_line(from + h * h_stride, first_w, h >= 0 && h < height ? width : 0, piece,
                          lanes + i * FROM);
            }
            continue;
        }
#endif
        load_patch(from, h_stride, w_stride, height, width, first_h, first_w, lanes + lane);
    }
#pragma unroll
    for (int i = 0; i < FROM * FROM; i++)
        patch[i] = vec_load(lanes + i * VEC);
    transform_patch(patch, result);
    if (first >= columns) {
#pragma unroll
        for (int i = 0; i < TO * TO; i++)
            result[i] = vec_splat(0);
    }
    planes += row * pitch + first;
#pragma unroll
    for (int i = 0; i < TO * TO; i++)
        vec_store(planes + i * plane, result[i]);
}
