/*
 * Forward convolution of 2D images by tiles, with the shape compiled in and every tensor stride an argument.
 *
 * A workgroup of THREADS_K by THREADS_H by THREADS_W work-items computes BLOCK_K channels of BLOCK_H by BLOCK_W
 * outputs, REPEAT_K times for consecutive blocks of channels. It copies what these outputs read of BLOCK_C
 * input channels, and the filter's weights for them, into local memory and multiplies; then the next BLOCK_C
 * follow. A work-item has the sums of TILE_K channels by TILE_H rows by TILE_W vectors of outputs in registers.
 *
 * The patch holds every PATCH_STEP_H-th row and PATCH_STEP_W-th column of the input, which is all that is read.
 * Its columns are divided by their phase within the stride, so that neighbouring outputs read neighbours
 * through a filter position.
 *
 * Other options: VEC, LANE; TYPE_X, TYPE_W, TYPE_Y; GROUPS; C_COUNT and K_COUNT, channels of a group; IN_,
 * OUT_, FIL_, PAD_, STRIDE_ and DILATION_, each with H and W. X_BY_C, W_BY_C: channels are the tensor's densest
 * axis. ITEMS_BY_K: neighbouring work-items have neighbouring channels of y. FILTER_IN_PLACE: weights are read
 * from memory, which is faster on a CPU. UNROLL_H, UNROLL_W: filter positions unrolled.
 */
#include "coordinates.h"
#include "epilogue.h"

#define ITEMS (THREADS_K * THREADS_H * THREADS_W)
#define BLOCK_K (THREADS_K * TILE_K)
#define BLOCK_H (THREADS_H * TILE_H)
#define BLOCK_W (THREADS_W * TILE_W * VEC)

#define COUNT_BLOCKS(count, block) (((count) + (block) - 1) / (block))
#define BLOCKS_K COUNT_BLOCKS(K_COUNT, BLOCK_K * REPEAT_K)
#define BLOCKS_H COUNT_BLOCKS(OUT_H, BLOCK_H)
#define BLOCKS_W COUNT_BLOCKS(OUT_W, BLOCK_W)

/* Distance in the patch, in rows or columns of the patch, between the inputs of neighbouring outputs (OUT_STEP) and
 * between those of neighbouring filter positions. */
#define OUT_STEP_H (BLOCK_H > 1 ? STRIDE_H / PATCH_STEP_H : 1)
#define OUT_STEP_W (BLOCK_W > 1 ? STRIDE_W / PATCH_STEP_W : 1)
#define TAP_STEP_H (DILATION_H / PATCH_STEP_H)
#define TAP_STEP_W (DILATION_W / PATCH_STEP_W)

#define PATCH_H ((BLOCK_H - 1) * OUT_STEP_H + (FIL_H - 1) * TAP_STEP_H + 1)
#define PATCH_W ((BLOCK_W - 1) * OUT_STEP_W + (FIL_W - 1) * TAP_STEP_W + 1)

/* PHASE_LENGTH: elements of one phase in a row of the patch. ROW_LENGTH: those of all phases, rounded up to
 * vectors of four for aligned loads. The patch's channels are an odd number of vectors apart, which spreads
 * them over the banks. */
#define PHASE_LENGTH ((PATCH_W + OUT_STEP_W - 1) / OUT_STEP_W)
#define ROW_LENGTH ((PHASE_LENGTH * OUT_STEP_W + 3) / 4 * 4)
#define PLANE (PATCH_H * ROW_LENGTH | 4)
#define COLUMN_PLACE(column) ((column) % OUT_STEP_W * PHASE_LENGTH + (column) / OUT_STEP_W)

#define TAPS (FIL_H * FIL_W)
/* Elements of a filter position's weights in local memory: an odd number of vectors of four, which spreads filter
 * positions over the banks. */
#define FILTER_ROW (BLOCK_K % 8 == 0 ? BLOCK_K + 4 : BLOCK_K)

/* An enum, since some compilers take no macro behind `unroll`. */
enum { TAP_ROWS_AT_ONCE = UNROLL_H, TAP_COLUMNS_AT_ONCE = UNROLL_W };

struct strides {
    i64 n, c, h, w; /* strides in elements; for w, n is the stride of k */
};

struct place {
    int group, k, h, w; /* k, h and w of the block's first output; k counts within the group */
};

/* Copies `count` channels of x, the first at x, into the patch, with zeros outside of the input. Work-items run
 * along INNER, the densest axis in memory. */
#if X_BY_C
#define INNER BLOCK_C
#define OUTER (PATCH_H * PATCH_W)
#else
#define INNER PATCH_W
#define OUTER (BLOCK_C * PATCH_H)
#endif
#define INNER_MOST (INNER > 16 ? 32 : INNER > 8 ? 16 : INNER > 4 ? 8 : INNER > 2 ? 4 : INNER)
#define INNER_ITEMS (ITEMS < INNER_MOST ? ITEMS : INNER_MOST)
#define OUTER_ITEMS (ITEMS / INNER_ITEMS)

DEVICE void stage_patch(GLOBAL const STORAGE(TYPE_X) *x, struct strides strides,
                        struct place block, int count, LOCAL_POINTER LANE *patch)
{
    int item = (int)LOCAL_ID(0);
    int first_h = block.h * STRIDE_H - PAD_H, first_w = block.w * STRIDE_W - PAD_W;
    for (int outer = item / INNER_ITEMS; outer < OUTER; outer += OUTER_ITEMS) {
        for (int inner = item % INNER_ITEMS; inner < INNER; inner += INNER_ITEMS) {
#if X_BY_C
            int c = inner, row = outer / PATCH_W, column = outer % PATCH_W;
#else
            int c = outer / PATCH_H, row = outer % PATCH_H, column = inner;
#endif
            int h = first_h + row * PATCH_STEP_H, w = first_w + column * PATCH_STEP_W;
            LANE value = 0;
            if (c < count && h >= 0 && h < IN_H && w >= 0 && w < IN_W)
                value = LOAD(TYPE_X, x, c * strides.c + h * strides.h + w * strides.w);
            patch[c * PLANE + row * ROW_LENGTH + COLUMN_PLACE(column)] = value;
        }
    }
}

/* Copies weights of `count` input and BLOCK_K output channels, the first at w, into filter[c][tap][k]. Output
 * channels past the last one repeat the last one's weights. */
DEVICE void stage_filter(GLOBAL const STORAGE(TYPE_W) *w, struct strides strides,
                         struct place block, int count, LOCAL_POINTER LANE *filter)
{
    for (int i = (int)LOCAL_ID(0); i < BLOCK_K * BLOCK_C * TAPS; i += ITEMS) {
        int k = i / (BLOCK_C * TAPS), rest = i % (BLOCK_C * TAPS);
#if W_BY_C
        int c = rest % BLOCK_C, tap = rest / BLOCK_C;
#else
        int c = rest / TAPS, tap = rest % TAPS;
#endif
        int from = block.k + k < K_COUNT ? k : K_COUNT - 1 - block.k;
        if (c < count)
            filter[(c * TAPS + tap) * FILTER_ROW + k] =
                LOAD(TYPE_W, w,
                     from * strides.n + c * strides.c + tap / FIL_W * strides.h +
                         tap % FIL_W * strides.w);
    }
}

/* Where a work-item's tile begins within the workgroup's block: output channel, row, and vector of columns. */
struct tile {
    int k, h, w; /* output channel, row, and column; w is counted in vectors */
};

DEVICE struct tile find_tile(int item)
{
    struct tile tile;
#if ITEMS_BY_K
    tile.k = item % THREADS_K * TILE_K;
    tile.w = item / THREADS_K % THREADS_W;
    tile.h = item / (THREADS_K * THREADS_W) * TILE_H;
#else
    tile.w = item % THREADS_W;
    tile.h = item / THREADS_W % THREADS_H * TILE_H;
    tile.k = item / (THREADS_W * THREADS_H) * TILE_K;
#endif
    return tile;
}

/* Adds the products of one filter position; `patch` points to the tile's first input. */
DEVICE void add_tap(LOCAL_POINTER const LANE *patch, const LANE *weights,
                    vec (*sums)[TILE_H][TILE_W])
{
#pragma unroll
    for (int t = 0; t < TILE_H; t++) {
#pragma unroll
        for (int v = 0; v < TILE_W; v++) {
            vec source = vec_load(patch + t * OUT_STEP_H * ROW_LENGTH + v * THREADS_W * VEC);
#pragma unroll
            for (int k = 0; k < TILE_K; k++)
                sums[k][t][v] = vec_madd(sums[k][t][v], vec_splat(weights[k]), source);
        }
    }
}

DEVICE void copy_sums(vec (*to)[TILE_H][TILE_W], vec (*from)[TILE_H][TILE_W])
{
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
#pragma unroll
        for (int t = 0; t < TILE_H; t++) {
#pragma unroll
            for (int v = 0; v < TILE_W; v++)
                to[k][t][v] = from[k][t][v];
        }
    }
}

/* Adds the products of `count` channels. Sums are copied to a local variable, because a CPU keeps no variable
 * in registers across a barrier. The filter is stage_filter()'s copy, or w itself, in which the tile's channels
 * begin at k_at[]. */
#if FILTER_IN_PLACE
#define FILTER_POINTER GLOBAL const STORAGE(TYPE_W) *
#else
#define FILTER_POINTER LOCAL_POINTER const LANE *
#endif

DEVICE void multiply(LOCAL_POINTER const LANE *patch, FILTER_POINTER filter, struct strides strides,
                     const i64 *k_at, struct tile tile, int count, vec (*sums)[TILE_H][TILE_W])
{
    vec sum[TILE_K][TILE_H][TILE_W];
    patch += tile.h * OUT_STEP_H * ROW_LENGTH + tile.w * VEC;
    copy_sums(sum, sums);
#pragma unroll 1
    for (int c = 0; c < count; c++) {
#pragma unroll TAP_ROWS_AT_ONCE
        for (int fh = 0; fh < FIL_H; fh++) {
#pragma unroll TAP_COLUMNS_AT_ONCE
            for (int fw = 0; fw < FIL_W; fw++) {
                LANE weights[TILE_K];
#pragma unroll
                for (int k = 0; k < TILE_K; k++) {
#if FILTER_IN_PLACE
                    weights[k] = LOAD(TYPE_W, filter,
                                      k_at[k] + c * strides.c + fh * strides.h + fw * strides.w);
#else
                    weights[k] =
                        filter[(c * TAPS + fh * FIL_W + fw) * FILTER_ROW + tile.k + k];
#endif
                }
                add_tap(patch + c * PLANE + fh * TAP_STEP_H * ROW_LENGTH +
                            COLUMN_PLACE(fw * TAP_STEP_W),
                        weights, sum);
            }
        }
    }
    copy_sums(sums, sum);
}

enum { UNROLL_STORED = EPILOGUE_UNROLLED(VEC) };

/* Writes a work-item's tile of sums to y; `y` points to the image's first element. */
DEVICE void store_sums(GLOBAL STORAGE(TYPE_Y) *y, struct strides strides, struct place block,
                       struct tile tile, vec (*sums)[TILE_H][TILE_W] EPILOGUE_PARAMETERS)
{
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
#pragma unroll
        for (int t = 0; t < TILE_H; t++) {
#pragma unroll
            for (int v = 0; v < TILE_W; v++) {
                LANE values[VEC];
                int channel = block.k + tile.k + k;
                int h = block.h + tile.h + t;
                int w = block.w + (v * THREADS_W + tile.w) * VEC;
                i64 at = (block.group * K_COUNT + channel) * strides.c + h * strides.h;
                vec_store(values, sums[k][t][v]);
#pragma unroll UNROLL_STORED
                for (int i = 0; i < VEC; i++) {
                    if (channel < K_COUNT && h < OUT_H && w + i < OUT_W)
                        EPILOGUE_STORE(TYPE_Y, y, at + (w + i) * strides.w, values[i],
                                       block.group * K_COUNT + channel);
                }
            }
        }
    }
}

/* Grid: workgroups along W, H, K, groups and images. */
KERNEL(ITEMS, 1, 1)
conv_direct_tiled(GLOBAL const STORAGE(TYPE_X) *RESTRICT x,
                  GLOBAL const STORAGE(TYPE_W) *RESTRICT w, GLOBAL STORAGE(TYPE_Y) *RESTRICT y,
                  i64 x_n, i64 x_c, i64 x_h, i64 x_w, i64 w_k, i64 w_c, i64 w_h, i64 w_w, i64 y_n,
                  i64 y_k, i64 y_h, i64 y_w EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY LANE patch[BLOCK_C * PLANE];
#if FILTER_IN_PLACE
    i64 k_at[TILE_K];
#else
    LOCAL_ARRAY LANE filter[BLOCK_C * TAPS * FILTER_ROW];
    const i64 *k_at = 0;
#endif
    vec sums[TILE_K][TILE_H][TILE_W];
    struct strides x_strides, w_strides, y_strides;
    struct place block;
    struct tile tile = find_tile((int)LOCAL_ID(0));
    int rest = (int)GROUP_ID(0), first_k;
    x_strides.c = x_c;
    x_strides.h = x_h;
    x_strides.w = x_w;
    w_strides.n = w_k;
    w_strides.c = w_c;
    w_strides.h = w_h;
    w_strides.w = w_w;
    y_strides.c = y_k;
    y_strides.h = y_h;
    y_strides.w = y_w;
    block.w = take(&rest, BLOCKS_W) * BLOCK_W;
    block.h = take(&rest, BLOCKS_H) * BLOCK_H;
    first_k = take(&rest, BLOCKS_K) * BLOCK_K * REPEAT_K;
    block.group = take(&rest, GROUPS);
    x += rest * x_n + block.group * C_COUNT * x_c;
    y += rest * y_n;
    EPILOGUE_ADVANCE(rest * y_n, 0);
    for (int round = 0; round < REPEAT_K; round++) {
        GLOBAL const STORAGE(TYPE_W) *round_w;
        block.k = first_k + round * BLOCK_K;
        if (block.k >= K_COUNT)
            break;
        round_w = w + (i64)(block.group * K_COUNT + block.k) * w_k;
#if FILTER_IN_PLACE
#pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            int channel = block.k + tile.k + k;
            k_at[k] = ((channel < K_COUNT ? channel : K_COUNT - 1) - block.k) * w_k;
        }
#endif
#pragma unroll
        for (int i = 0; i < TILE_K * TILE_H * TILE_W; i++)
            sums[i / (TILE_H * TILE_W)][i / TILE_W % TILE_H][i % TILE_W] = vec_splat(0);
        for (int c = 0; c < C_COUNT; c += BLOCK_C) {
            int count = C_COUNT - c < BLOCK_C ? C_COUNT - c : BLOCK_C;
            BARRIER();
            if (C_COUNT > BLOCK_C || round == 0)
                stage_patch(x + c * x_c, x_strides, block, count, patch);
#if FILTER_IN_PLACE
            BARRIER();
            multiply(patch, round_w + c * w_c, w_strides, k_at, tile, count, sums);
#else
            stage_filter(round_w + c * w_c, w_strides, block, count, filter);
            BARRIER();
            multiply(patch, filter, w_strides, k_at, tile, count, sums);
#endif
        }
        store_sums(y, y_strides, block, tile, sums EPILOGUE_ARGUMENTS);
    }
}
