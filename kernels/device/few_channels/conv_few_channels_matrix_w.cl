/*
 * Backward weights (W) of 2D convolutions with few input channels on NVIDIA's matrix units (mma.sync): the sum over
 * positions of y times x for each k, filter position and channel; packed tensors, NHWC, FP16 or BF16.
 *
 * The product's rows are k, its terms positions, its columns what a position reads of a row of x: the filter's
 * columns with their channels, consecutive in memory. STEP_W positions of a row of y, and the rows of x that
 * they meet, are copied to local memory unchanged, in chunks of 16 bytes (cp.async). y is transposed by the
 * load into registers (ldmatrix); a pair of terms of x is two halfwords one position apart. LEAD elements of a
 * row's first chunk precede the filter's first column.
 *
 * A warp sums one row of the filter for BLOCK_K output channels. SHARES warps share this work and alternate at steps
 * of 16 positions. A workgroup takes `part` rows of y, loads the next positions while it multiplies, and writes the
 * sums of each of the SHARES warps to the workspace in w's order, FP32: split-K parts, which another launch adds up.
 *
 * Options: TYPE (FP16 or BF16), LANE, C, FIL_H, FIL_W, STRIDE_H, STRIDE_W, DILATION_H, LEAD; BLOCK_K (a
 * multiple of 16), STEP_W (a multiple of 16 times SHARES), SHARES; RAGGED, 1 where rows of y end within a step
 * of 16.
 */
#include "dialect.h"

#define ITEMS (32 * FIL_H * SHARES)
#define NEAR  0

#include "matrix_nvidia.h"

#define TERMS   (FIL_W * C)
#define TILES_M (BLOCK_K / 16)
#define TILES_N ((TERMS + 7) / 8)

/* Bytes in local memory of rows of x and of positions of y. A position is padded so that neighbouring positions start
 * in different banks. */
#define PLACE_BYTES (STRIDE_W * C * 2)
#define LINE_CHUNKS ((LEAD + (STEP_W - 1) * STRIDE_W * C + TILES_N * 8 + 7) / 8)
#define LINE_BYTES  (LINE_CHUNKS * CHUNK_BYTES)
#define Y_CHUNKS    (BLOCK_K / 8)
#define Y_BYTES     ((Y_CHUNKS | 1) * CHUNK_BYTES)
#define X_BYTES     (FIL_H * LINE_BYTES)
#define STAGE_BYTES (X_BYTES + STEP_W * Y_BYTES)

#if !defined(MATRIX_EMULATED)
#define LOCAL_HALF(memory, at) (*(half_bits *)((memory) + (at)))
#endif

struct image {
    int k, in_h, in_w, out_h, out_w, pad_h, pad_w;
};

/* Starts to load STEP_W positions of y's row (rows are numbered over all images), from column `first` on, and the
 * elements of x that these positions read. */
DEVICE void load_positions(LOCAL_POINTER unsigned char *memory, unsigned place,
                           GLOBAL const half_bits *y, GLOBAL const half_bits *x,
                           const struct image *image, int row, int first, int channel, int item)
{
    const int n = row / image->out_h, oh = row % image->out_h, width = image->in_w * C;
    const int first_h = oh * STRIDE_H - image->pad_h;
    const int begins = (first * STRIDE_W - image->pad_w) * C - LEAD;
    x += (i64)n * image->in_h * width;
    y += ((i64)row * image->out_w + first) * image->k + channel;
    UNROLL for (int begin = 0; begin < FIL_H * LINE_CHUNKS; begin += ITEMS)
    {
        int at = begin + item, line = at / LINE_CHUNKS;
        int ih = first_h + line * DILATION_H, element = begins + at % LINE_CHUNKS * 8;
        int there = ih >= 0 && ih < image->in_h && element >= 0 && element < width;
        if (line < FIL_H)
            load_chunk(memory, place + at * CHUNK_BYTES, x + (there ? ih * width + element : 0),
                       there);
    }
    UNROLL for (int begin = 0; begin < STEP_W * Y_CHUNKS; begin += ITEMS)
    {
        int at = begin + item, column = at / Y_CHUNKS, chunk = at % Y_CHUNKS;
        int there = first + column < image->out_w && channel + chunk * 8 < image->k;
        if (column < STEP_W)
            load_chunk(memory, place + X_BYTES + column * Y_BYTES + chunk * CHUNK_BYTES,
                       y + (there ? column * image->k + chunk * 8 : 0), there);
    }
}

/* The same element of two neighbouring positions as one word, an operand's pair of terms. Only `count` positions from
 * here on are in y's row; the others count as zero. */
DEVICE unsigned pair_at(LOCAL_POINTER unsigned char *line, int count)
{
    unsigned low = LOCAL_HALF(line, 0), high = LOCAL_HALF(line, PLACE_BYTES);
    if (RAGGED && count < 1)
        low = 0;
    if (RAGGED && count < 2)
        high = 0;
    return low | high << 16;
}

/* Multiplies 16 positions of y by their elements of x. `line` is where the lane's column of x begins for its first
 * pair, `from` is the lane's row of y. */
DEVICE void multiply_step(LOCAL_POINTER unsigned char *memory, LANE sums[TILES_M][TILES_N][4],
                          LOCAL_POINTER unsigned char *line, unsigned from, int count, int item)
{
    unsigned columns[TILES_N][2];
    UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int i = 0; i < 2; i++) columns[j][i] =
        pair_at(line + i * (8 * PLACE_BYTES) + j * 16, count - i * 8);
    UNROLL for (int m = 0; m < TILES_M; m++)
    {
        unsigned rows[4];
        load_matrices(memory, rows, from + m * 2 * CHUNK_BYTES, 1, item);
        UNROLL for (int j = 0; j < TILES_N; j++)
            multiply(memory, sums[m][j], rows, columns[j], item);
    }
}

DEVICE void store_sums(GLOBAL float *part, LANE sums[TILES_M][TILES_N][4], int k, int k_count,
                       int tap, int lane)
{
    UNROLL for (int m = 0; m < TILES_M; m++) UNROLL for (int j = 0; j < TILES_N; j++)
        UNROLL for (int e = 0; e < 4; e++)
    {
        const int row = k + m * 16 + lane / 4 + e / 2 * 8, term = j * 8 + lane % 4 * 2 + e % 2;
        if (row < k_count && term < TERMS)
            part[((i64)row * FIL_H + tap) * TERMS + term] = sums[m][j][e];
    }
}

KERNEL(ITEMS, 1, 1)
conv_few_channels_matrix_w(GLOBAL const half_bits *RESTRICT y, GLOBAL const half_bits *RESTRICT x,
                           GLOBAL float *RESTRICT parts, int k, int in_h, int in_w, int out_h,
                           int out_w, int pad_h, int pad_w, int rows, int part, int blocks,
                           int stretches LOCAL_MEMORY_PARAMETER)
{
    const struct image sizes = {k, in_h, in_w, out_h, out_w, pad_h, pad_w};
    const struct image *image = &sizes;
    const int item = (int)LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int tap = warp % FIL_H, share = warp / FIL_H;
    const int channel = (int)GROUP_ID(0) % blocks * BLOCK_K, group = (int)GROUP_ID(0) / blocks;
    const int first_row = group * part;
    const int units = (first_row + part < rows ? part : rows - first_row) * stretches;
    LANE sums[TILES_M][TILES_N][4];
    OPEN_LOCAL_MEMORY;
    const unsigned stages = local_place(local_memory);
    const int own = tap * LINE_BYTES + lane % 4 * 2 * PLACE_BYTES + (LEAD + lane / 4) * 2;
    const int own_y =
        X_BYTES + ((lane >> 4) * 8 + (lane & 7)) * Y_BYTES + (lane >> 3 & 1) * CHUNK_BYTES;

    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int j = 0; j < TILES_N; j++)
        UNROLL for (int e = 0; e < 4; e++) sums[i][j][e] = 0;
    load_positions(local_memory, stages, y, x, image, first_row, 0, channel, item);
    end_stage();
    for (int unit = 0; unit < units; unit++) {
        const int stage = unit % 2 * STAGE_BYTES, next = unit + 1;
        const int left = out_w - unit % stretches * STEP_W - lane % 4 * 2;
        if (next < units)
            load_positions(local_memory, stages + next % 2 * STAGE_BYTES, y, x, image,
                           first_row + next / stretches, next % stretches * STEP_W, channel, item);
        end_stage();
        AWAIT_STAGES(1);
        BARRIER();
        for (int at = share * 16; at < STEP_W; at += SHARES * 16)
            multiply_step(local_memory, sums, local_memory + stage + own + at * PLACE_BYTES,
                          stages + stage + own_y + at * Y_BYTES, left - at, item);
        BARRIER();
    }
    AWAIT_STAGES(0);
    store_sums(parts + ((i64)group * SHARES + share) * k * (FIL_H * TERMS), sums, channel, k, tap,
               lane);
}
