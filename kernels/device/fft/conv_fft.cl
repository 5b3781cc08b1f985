/*
 * Forward convolution by Fourier transforms of overlapping tiles (overlap-save): the transforms around the
 * product of spectra (conv_fft_product.cl). solvers/fft/conv_fft.c has an account of the method.
 *
 * A strided convolution is the sum of one convolution of stride 1 for each phase. Phase r of x is x[i * stride
 * + r - pad], and of w the filter positions i * stride + r. So the spectra of a group have `terms` planes:
 * channels times phases. An image's output is cut into tiles of tile_h by tile_w, each computed from SIZE by
 * SIZE elements of every phase. Spectra of x and y have a column for each tile of each image, those of w for
 * each output channel of a group.
 *
 *   x: [frequency][group][block of columns][term][re, im][BLOCK]
 *   w: [frequency][group][block of channels][term][re, im][BLOCK]
 *   y: [frequency][group][block of columns][channel][re, im][BLOCK]
 *
 * Columns past the last one of a block may stay unwritten; no stored result depends on them.
 *
 * Options: those of fft.h, TYPE_X, TYPE_W or TYPE_Y, and one of PART_X, PART_W and PART_Y, which chooses the
 * entry.
 */
#include "fft.h"
#include "epilogue.h"

/* Offset in elements, within a spectrum, of frequency 0 of the work-item's lane; `row` counts terms (x, w) or
 * channels (y). */
#define SPECTRUM_AT(group, blocks, column, rows, row)                                              \
    (((((i64)(group) * (blocks) + (column) / BLOCK) * (rows) + (row)) * 2) * BLOCK +               \
     (column) % BLOCK)

/* Range of indices i, from `begin` up to `end`, for which 0 <= first + i * stride < count, that is, position i is
 * inside of the tensor. */
#define FIRST_INSIDE(first, stride) ((first) < 0 ? (-(first) + (stride) - 1) / (stride) : 0)
#define END_INSIDE(first, stride, count)                                                           \
    ((first) < (count) ? ((count) - 1 - (first)) / (stride) + 1 : 0)

#ifdef PART_X

/* Transforms x. Grid: terms, groups and LANES columns, the first fastest. */
KERNEL(ITEMS, 1, 1)
conv_fft_x(GLOBAL const STORAGE(TYPE_X) *RESTRICT x, GLOBAL float *RESTRICT spectra, i64 x_n,
           i64 x_c, i64 x_h, i64 x_w, int groups, int c_count, int phases_h, int phases_w,
           int step_h, int step_w, int in_h, int in_w, int pad_h, int pad_w, int stride_h,
           int stride_w, int tile_h, int tile_w, int tiles_h, int tiles_w, int columns)
{
    LOCAL_ARRAY float planes[PLANES_FLOATS];
    int terms = c_count * phases_h * phases_w, tiles = tiles_h * tiles_w;
    int term = (int)GROUP_ID(0) % terms, group = (int)GROUP_ID(0) / terms % groups;
    int first = (int)GROUP_ID(0) / terms / groups * LANES;
    int blocks = (columns + BLOCK - 1) / BLOCK;
    int c = group * c_count + term / (phases_h * phases_w);
    int begin_h[FILLED], end_h[FILLED], begin_w[FILLED], end_w[FILLED];
    i64 at[FILLED];
    int phase_h = term / phases_w % phases_h * step_h - pad_h;
    int phase_w = term % phases_w * step_w - pad_w;
    for (int f = 0; f < FILLED; f++) {
        int column = first + RUN_LANE + f * RUN_LANES;
        int first_h = column % tiles / tiles_w * tile_h * stride_h + phase_h;
        int first_w = column % tiles_w * tile_w * stride_w + phase_w;
        begin_h[f] = FIRST_INSIDE(first_h, stride_h);
        end_h[f] = column < columns ? END_INSIDE(first_h, stride_h, in_h) : 0;
        begin_w[f] = FIRST_INSIDE(first_w, stride_w);
        end_w[f] = END_INSIDE(first_w, stride_w, in_w);
        at[f] = column / tiles * x_n + c * x_c + first_h * x_h + first_w * x_w;
    }
    for (int i = RUN_ROW; i < SIZE; i += RUN_ROWS) {
        for (int j = RUN_COLUMN; j < SIZE; j += RUN) {
            i64 offset = (i64)i * stride_h * x_h + (i64)j * stride_w * x_w;
            for (int f = 0; f < FILLED; f++) {
                int inside = i >= begin_h[f] && i < end_h[f] && j >= begin_w[f] && j < end_w[f];
                planes[REAL_AT(i, j) + RUN_LANE + f * RUN_LANES] =
                    inside ? LOAD(TYPE_X, x, at[f] + offset) : 0.0f;
            }
        }
    }
    BARRIER();
    for (int pair = ITEM_JOB; pair < HALF; pair += JOBS)
        transform_rows(planes, ITEM_LANE, pair);
    BARRIER();
    spectra += SPECTRUM_AT(group, blocks, first + ITEM_LANE, terms, term);
    for (int column = ITEM_JOB; column < HALF; column += JOBS)
        transform_column(planes, ITEM_LANE, column, spectra,
                         (i64)groups * blocks * terms * 2 * BLOCK);
}

#endif
#ifdef PART_W

/* The filter position of an index of a phase, -1 for an index past the filter. */
DEVICE int tap_at(int index, int phase, int stride, int dilation, int count)
{
    int at = index * stride + phase;
    return at % dilation == 0 && at / dilation < count ? at / dilation : -1;
}

/* Transforms the filter. Grid: terms, groups and LANES channels, the first fastest. taps_h and taps_w are the
 * most indices of a phase along each axis, up to its last filter position. */
KERNEL(ITEMS, 1, 1)
conv_fft_w(GLOBAL const STORAGE(TYPE_W) *RESTRICT w, GLOBAL float *RESTRICT spectra, i64 w_k,
           i64 w_c, i64 w_h, i64 w_w, int groups, int c_count, int k_count, int phases_h,
           int phases_w, int step_h, int step_w, int fil_h, int fil_w, int stride_h, int stride_w,
           int dilation_h, int dilation_w, int taps_h, int taps_w)
{
    LOCAL_ARRAY float planes[PLANES_FLOATS];
    int terms = c_count * phases_h * phases_w;
    int term = (int)GROUP_ID(0) % terms, group = (int)GROUP_ID(0) / terms % groups;
    int first = (int)GROUP_ID(0) / terms / groups * LANES;
    int blocks = (k_count + BLOCK - 1) / BLOCK;
    int phase_h = term / phases_w % phases_h * step_h, phase_w = term % phases_w * step_w;
    for (int i = RUN_ROW; i < SIZE; i += RUN_ROWS) {
        int fh = i < taps_h ? tap_at(i, phase_h, stride_h, dilation_h, fil_h) : -1;
        for (int j = RUN_COLUMN; j < SIZE; j += RUN) {
            int fw = fh >= 0 && j < taps_w ? tap_at(j, phase_w, stride_w, dilation_w, fil_w) : -1;
            i64 at = term / (phases_h * phases_w) * w_c + fh * w_h + fw * w_w;
            for (int lane = RUN_LANE; lane < LANES; lane += RUN_LANES) {
                int k = group * k_count + first + lane;
                planes[REAL_AT(i, j) + lane] =
                    fw >= 0 && first + lane < k_count ? LOAD(TYPE_W, w, at + k * w_k) : 0.0f;
            }
        }
    }
    BARRIER();
    for (int pair = ITEM_JOB; pair < HALF; pair += JOBS)
        transform_rows(planes, ITEM_LANE, pair);
    BARRIER();
    spectra += SPECTRUM_AT(group, blocks, first + ITEM_LANE, terms, term);
    for (int column = ITEM_JOB; column < HALF; column += JOBS)
        transform_column(planes, ITEM_LANE, column, spectra,
                         (i64)groups * blocks * terms * 2 * BLOCK);
}

#endif
#ifdef PART_Y

/* Undoes the factors of all transforms at once: 2 each for x and w, and SIZE along each axis for the inverse. */
#define SCALE (1.0f / (4.0f * SIZE * SIZE))

/* Transforms the product back into y. Grid: channels of a group, groups and LANES columns, the first fastest. */
KERNEL(ITEMS, 1, 1)
conv_fft_y(GLOBAL const float *RESTRICT spectra, GLOBAL STORAGE(TYPE_Y) *RESTRICT y, i64 y_n,
           i64 y_k, i64 y_h, i64 y_w, int groups, int k_count, int out_h, int out_w, int tile_h,
           int tile_w, int tiles_h, int tiles_w, int columns EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY float planes[PLANES_FLOATS];
    int tiles = tiles_h * tiles_w;
    int k = (int)GROUP_ID(0) % k_count, group = (int)GROUP_ID(0) / k_count % groups;
    int first = (int)GROUP_ID(0) / k_count / groups * LANES;
    int blocks = (columns + BLOCK - 1) / BLOCK;
    spectra += SPECTRUM_AT(group, blocks, first + ITEM_LANE, k_count, k);
    for (int column = ITEM_JOB; column < HALF; column += JOBS)
        restore_column(planes, ITEM_LANE, column, spectra,
                       (i64)groups * blocks * k_count * 2 * BLOCK);
    BARRIER();
    for (int pair = ITEM_JOB; 2 * pair < tile_h; pair += JOBS)
        restore_rows(planes, ITEM_LANE, pair);
    BARRIER();
    for (int lane = RUN_LANE; lane < LANES; lane += RUN_LANES) {
        int column = first + lane;
        int first_h = column % tiles / tiles_w * tile_h, first_w = column % tiles_w * tile_w;
        int end_h = out_h - first_h < tile_h ? out_h - first_h : tile_h;
        int end_w = out_w - first_w < tile_w ? out_w - first_w : tile_w;
        i64 at = column / tiles * y_n + (group * k_count + k) * y_k + first_h * y_h + first_w * y_w;
        if (column >= columns)
            break;
        for (int i = RUN_ROW; i < end_h; i += RUN_ROWS) {
            for (int j = RUN_COLUMN; j < end_w; j += RUN)
                EPILOGUE_STORE(TYPE_Y, y, at + i * y_h + j * y_w,
                               planes[REAL_AT(i, j) + lane] * SCALE, group * k_count + k);
        }
    }
}

#endif
