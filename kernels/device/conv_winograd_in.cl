/*
 * Takes patches of a tensor (x, y, or the filters) to their Winograd transform
 * in the workspace: the patch of tile (th, tw) begins at th * step - pad_h, tw *
 * step - pad_w, and is zero outside of the tensor's height and width. With
 * FLIP 1 the patch is turned around, as backward data needs its filters.
 *
 * Options: TYPE, FLIP, BY_CHANNEL, VEC (columns an item), ITEMS (a workgroup's),
 * TRANSFORM (winograd.h). Grid: `row_blocks` workgroups for each row of a plane.
 */
#include "winograd.h"

KERNEL(ITEMS, 1, 1)
conv_winograd_in(GLOBAL const STORAGE(TYPE) *RESTRICT tensor, GLOBAL float *RESTRICT planes,
                 i64 image_stride, i64 channel_stride, i64 h_stride, i64 w_stride, int columns,
                 int height, int width, int tiles_h, int tiles_w, int step, int pad_h, int pad_w,
                 int row_blocks, i64 pitch, i64 plane)
{
    int row = (int)GROUP_ID(0) / row_blocks;
    int first = ((int)GROUP_ID(0) % row_blocks * ITEMS + (int)LOCAL_ID(0)) * VEC;
    float lanes[FROM * FROM * VEC];
    vec patch[FROM * FROM], result[TO * TO];
    if (first >= columns)
        return;
    for (int lane = 0; lane < VEC; lane++) {
        int at = first + lane < columns ? first + lane : columns - 1;
        struct place place = find_place(row, at, tiles_h, tiles_w);
        int first_h = place.tile_h * step - pad_h, first_w = place.tile_w * step - pad_w;
        GLOBAL const STORAGE(TYPE) *from =
            tensor + place.image * image_stride + place.channel * channel_stride;
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
                lanes[(i * FROM + j) * VEC + lane] = value;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < FROM * FROM; i++)
        patch[i] = vec_load(lanes + i * VEC);
    transform_patch(patch, result);
    planes += row * pitch + first;
#pragma unroll
    for (int i = 0; i < TO * TO; i++)
        vec_store(planes + i * plane, result[i]);
}
