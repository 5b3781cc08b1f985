/*
 * Transforms products of Winograd's planes back to a tensor. It adds up `splits` sets of planes (split-K; layout in
 * winograd.h) and transforms each tile (th, tw) to TO by TO values that begin at position (th * TO, tw * TO). Only
 * values inside of the tensor are stored.
 *
 * Options: TYPE, BY_CHANNEL, VEC (columns of a work-item), ITEMS (of a workgroup), TRANSFORM, and those of epilogue.h
 * for an output of the problem. Grid:
 * `row_blocks` workgroups for each row of a plane.
 */
#include "winograd.h"
#include "epilogue.h"

#if TAKES_PIECES && (TAKE(Y2_4) || TAKE(Y4_6))
/* Stores a line of a tile from position w on, without values past the width. */
DEVICE void store_line(GLOBAL float *to, int w, int width, int piece, const vec *values)
{
    if (piece == 4 && TO == 4 && w + 4 <= width) {
        const struct quad quad = {{values[0], values[1], values[TO - 2], values[TO - 1]}};
        *(GLOBAL struct quad *)(to + w) = quad;
        return;
    }
#pragma unroll
    for (int j = 0; j < TO; j += 2) {
        const struct pair pair = {{values[j], values[j + 1]}};
        if (piece >= 2 && w + j + 2 <= width) {
            *(GLOBAL struct pair *)(to + w + j) = pair;
            continue;
        }
        if (w + j < width)
            to[w + j] = pair.lane[0];
        if (w + j + 1 < width)
            to[w + j + 1] = pair.lane[1];
    }
}
#endif

#if BY_CHANNEL && VEC == 1 && ITEMS > 1 && (TAKE(Y3_4) || TAKE(Y3_6))
#define STAGES_FILTERS 1

/* Stores filters through local memory: neighbouring channels' filters are contiguous, but each work-item has
 * one of them. All work-items of a workgroup call it. */
DEVICE void store_staged(LOCAL_POINTER float *staged, const vec *values,
                         GLOBAL STORAGE(TYPE) *to, int count, i64 channel_stride, i64 h_stride,
                         i64 w_stride)
{
    int item = (int)LOCAL_ID(0);
    int is_dense = w_stride == 1 && h_stride == TO && channel_stride == TO * TO;
#pragma unroll
    for (int i = 0; i < TO * TO; i++)
        staged[item * TO * TO + i] = values[i];
    BARRIER();
#pragma unroll
    for (int i = 0; i < TO * TO; i++) {
        int at = is_dense ? i * ITEMS + item : item * TO * TO + i;
        int channel = at / (TO * TO), place = at % (TO * TO);
        if (channel < count)
            STORE(TYPE, to,
                  channel * channel_stride + place / TO * h_stride + place % TO * w_stride,
                  staged[at]);
    }
}
#else
#define STAGES_FILTERS 0

/* Stores a tile from row h and column w on, without values past height and width; the tile's values are VEC apart. */
DEVICE void store_values(GLOBAL STORAGE(TYPE) *to, i64 h_stride, i64 w_stride, int height, int width,
                         int first_h, int first_w,
                         const float *values EPILOGUE_PARAMETERS)
{
#pragma unroll UNROLL_TO
    for (int i = 0; i < TO; i++) {
#pragma unroll UNROLL_TO
        for (int j = 0; j < TO; j++) {
            if (first_h + i < height && first_w + j < width)
                EPILOGUE_STORE(TYPE, to, (first_h + i) * h_stride + (first_w + j) * w_stride,
                               values[(i * TO + j) * VEC], 0);
        }
    }
}
#endif

KERNEL(ITEMS, 1, 1)
conv_winograd_out(GLOBAL const float *RESTRICT planes, GLOBAL STORAGE(TYPE) *RESTRICT tensor,
                  i64 image_stride, i64 channel_stride, i64 h_stride, i64 w_stride, int columns,
                  int height, int width, int tiles_h, int tiles_w, int row_blocks, i64 pitch,
                  i64 plane, int splits, i64 split_step EPILOGUE_PARAMETERS)
{
    int row = (int)GROUP_ID(0) / row_blocks;
    int first = ((int)GROUP_ID(0) % row_blocks * ITEMS + (int)LOCAL_ID(0)) * VEC;
#if STAGES_FILTERS
    LOCAL_ARRAY float staged[ITEMS * TO * TO];
#else
    float lanes[TO * TO * VEC];
#endif
    vec patch[FROM * FROM], result[TO * TO];
    int is_there = first < columns;
#if !STAGES_FILTERS
    if (!is_there)
        return;
#endif
    planes += row * pitch + (is_there ? first : 0);
#pragma unroll
    for (int i = 0; i < FROM * FROM; i++)
        patch[i] = vec_load(planes + i * plane);
    for (int split = 1; split < splits; split++) {
        planes += split_step;
#pragma unroll
        for (int i = 0; i < FROM * FROM; i++)
            patch[i] = ADD(patch[i], 1.0f, vec_load(planes + i * plane));
    }
    transform_patch(patch, result);
#if STAGES_FILTERS
    first -= (int)LOCAL_ID(0);
    store_staged(staged, result, tensor + row * image_stride + first * channel_stride,
                 columns - first, channel_stride, h_stride, w_stride);
#else
#if TAKES_PIECES && (TAKE(Y2_4) || TAKE(Y4_6))
    if (w_stride == 1) {
        int piece = piece_of((i64)tensor, image_stride, channel_stride, h_stride, w_stride);
        struct place place = find_place(row, first, tiles_h, tiles_w);
        GLOBAL float *to = tensor + place.image * image_stride + place.channel * channel_stride;
#pragma unroll UNROLL_TO
        for (int i = 0; i < TO; i++) {
            int h = place.tile_h * TO + i;
#ifdef EPILOGUE
#pragma unroll UNROLL_TO
            for (int j = 0; j < TO; j++) {
                if (h < height && place.tile_w * TO + j < width)
                    result[i * TO + j] = epilogue_value(
                        result[i * TO + j], place.channel,
                        place.image * image_stride + place.channel * channel_stride +
                            h * h_stride + place.tile_w * TO + j EPILOGUE_ARGUMENTS);
            }
#endif
            if (h < height)
                store_line(to + h * h_stride, place.tile_w * TO, width, piece, result + i * TO);
        }
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < TO * TO; i++)
        vec_store(lanes + i * VEC, result[i]);
    for (int lane = 0; lane < VEC && first + lane < columns; lane++) {
        struct place place = find_place(row, first + lane, tiles_h, tiles_w);
        store_values(tensor + place.image * image_stride + place.channel * channel_stride, h_stride,
                     w_stride, height, width, place.tile_h * TO, place.tile_w * TO,
                     lanes + lane EPILOGUE_ARGUMENTS_AT(
                         place.image * image_stride + place.channel * channel_stride,
                         place.channel));
    }
#endif
}
