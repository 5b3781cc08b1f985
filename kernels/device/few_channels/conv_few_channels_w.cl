/*
 * Backward weights (W) of 2D convolutions with few input channels: the sum over positions of y times x for each k,
 * channel and filter position, all tensors packed.
 *
 * A work-item sums TILE_K output channels of w, ITEMS_K apart, for all input channels and columns of one filter row.
 * It moves along a row of y four positions at a time. Each piece of a row of x that it reads is multiplied for all
 * its output channels, and each value of y for the whole piece. A workgroup has a block of k and every filter row,
 * with SHARES work-items for each, which alternate along the row of y; at the end their sums are added in local
 * memory. A workgroup takes `part` rows of y and writes its sums to the workspace in w's order, FP32: split-K parts,
 * which another launch adds up.
 *
 * Options: TYPE, NHWC, C, FIL_H, FIL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W; TILE_K, ITEMS_K, SHARES;
 * STEP_W, positions of a row in local memory at a time, a multiple of 4; CHUNKED, 1 where y's innermost runs (k
 * in NHWC, columns in NCHW) are whole chunks of 16 bytes, in y and in a part; X_CHUNKED, 1 where rows of x are.
 */
#include "few_channels.h"

#define ITEMS   (ITEMS_K * FIL_H * SHARES)
#define BLOCK_K (ITEMS_K * TILE_K)

/* Floats of a row in local memory. The extra four let a row end in another bank than it begins. */
#define Y_PITCH (STEP_W + 4)
#define X_WIDTH ((STEP_W - 1) * STRIDE_W + (FIL_W - 1) * DILATION_W + 1)
#define X_PITCH (UP_TO_FOURS(X_WIDTH) + 4)
/* Elements of a row of x that four positions read. */
#define SPAN    UP_TO_FOURS(3 * STRIDE_W + (FIL_W - 1) * DILATION_W + 1)

#define SUMS        (TILE_K * C * FIL_W)
#define REGISTERS   (SUMS + SPAN + 4 * TILE_K + 64)
#define STAGED      (BLOCK_K * Y_PITCH + C * FIL_H * X_PITCH)
#define SHARED_SUMS (SHARES > 1 ? ITEMS_K * FIL_H * SUMS : 0)
#define LOCAL_QUADS ((STAGED > SHARED_SUMS ? STAGED : SHARED_SUMS) / 4 + 1)

struct sums {
    float at[TILE_K][C][FIL_W];
};

struct image {
    int k, in_h, in_w, out_h, out_w, pad_h, pad_w;
};

/* Loads that a work-item starts before it uses the first, so that memory latency overlaps. */
#define BATCH        8
#define BATCH_CHUNKS 4

#if CHUNKED

/* Where chunk `at` of the workgroup's part of y begins: a chunk holds neighbouring k in NHWC, neighbouring columns in
 * NCHW. */
struct y_place {
    int k, column;
};

DEVICE struct y_place y_place_of(int at)
{
    struct y_place place;
    place.k = NHWC ? at / STEP_W * CHUNK : at / (STEP_W / CHUNK);
    place.column = NHWC ? at % STEP_W : at % (STEP_W / CHUNK) * CHUNK;
    return place;
}

DEVICE void lay_y(LOCAL_POINTER float *to, struct chunk chunk)
{
#if NHWC
    UNROLL for (int i = 0; i < CHUNK; i++) to[i * Y_PITCH] = chunk_value(chunk, i);
#else
    UNROLL for (int i = 0; i < CHUNK; i += 4)
    {
        struct quad four;
        UNROLL for (int e = 0; e < 4; e++) four.lane[e] = chunk_value(chunk, i + e);
        QUAD_AT(to + i) = four;
    }
#endif
}

/* Loads STEP_W positions of y's row from column `first` on, for the block of k from `channel` on. */
DEVICE void stage_y(LOCAL_POINTER float *to, GLOBAL const ELEMENT *y, const struct image *image,
                    int oh, int first, int channel, int item)
{
    const int count = BLOCK_K * STEP_W / CHUNK;
    const int k_step = NHWC ? 1 : image->out_h * image->out_w, step = NHWC ? image->k : 1;
    y += (oh * image->out_w + first) * step + channel * k_step;
    for (int begin = item; begin < count; begin += BATCH_CHUNKS * ITEMS) {
        struct chunk chunks[BATCH_CHUNKS];
        UNROLL for (int i = 0; i < BATCH_CHUNKS; i++)
        {
            struct y_place at = y_place_of(begin + i * ITEMS);
            chunks[i] = load_chunk(y + at.k * k_step + at.column * step,
                                   begin + i * ITEMS < count && first + at.column < image->out_w &&
                                       channel + at.k < image->k);
        }
        UNROLL for (int i = 0; i < BATCH_CHUNKS; i++)
        {
            struct y_place at = y_place_of(begin + i * ITEMS);
            if (begin + i * ITEMS < count)
                lay_y(to + at.k * Y_PITCH + at.column, chunks[i]);
        }
    }
}

#else

DEVICE void stage_y(LOCAL_POINTER float *to, GLOBAL const ELEMENT *y, const struct image *image,
                    int oh, int first, int channel, int item)
{
    const int k_step = NHWC ? 1 : image->out_h * image->out_w, step = NHWC ? image->k : 1;
    y += (oh * image->out_w + first) * step + channel * k_step;
    for (int begin = item; begin < BLOCK_K * STEP_W; begin += BATCH * ITEMS) {
        float values[BATCH];
        UNROLL for (int i = 0; i < BATCH; i++)
        {
            int at = begin + i * ITEMS;
            int k = NHWC ? at % BLOCK_K : at / STEP_W, column = NHWC ? at / BLOCK_K : at % STEP_W;
            values[i] = 0;
            if (at < BLOCK_K * STEP_W && first + column < image->out_w && channel + k < image->k)
                values[i] = value_at(y + k * k_step + column * step);
        }
        UNROLL for (int i = 0; i < BATCH; i++)
        {
            int at = begin + i * ITEMS;
            int k = NHWC ? at % BLOCK_K : at / STEP_W, column = NHWC ? at / BLOCK_K : at % STEP_W;
            if (at < BLOCK_K * STEP_W)
                to[k * Y_PITCH + column] = values[i];
        }
    }
}

#endif

/* Rows of x as contiguous lines: in NHWC one line for all channels of a row, in NCHW one for each channel. */
#define STEP       (NHWC ? C : 1)
#define LINES      (NHWC ? FIL_H : C * FIL_H)
#define LINE_WIDTH (X_WIDTH * STEP)

/* Writes element `at` of a line of x to its place in local memory, unless `at` is outside of the line. */
DEVICE void lay_x(LOCAL_POINTER float *to, int line, int at, float value)
{
    int place = NHWC ? (at % C * FIL_H + line) * X_PITCH + at / C : line * X_PITCH + at;
    if (at >= 0 && at < LINE_WIDTH)
        to[place] = value;
}

/* The offset in x of a line's element `at`; *there is 0 where x has no such element. */
DEVICE int find_x(const struct image *image, int line, int at, int first_h, int *there)
{
    int ih = first_h + line % FIL_H * DILATION_H, width = image->in_w * STEP;
    *there = line < LINES && ih >= 0 && ih < image->in_h && at >= 0 && at < width;
    return *there ? (line / FIL_H * image->in_h + ih) * width + at : 0;
}

#if X_CHUNKED

/* The most chunks that cover a line, which may begin in the middle of its first chunk. */
#define LINE_CHUNKS ((LINE_WIDTH + 2 * CHUNK - 2) / CHUNK)

/* Loads the rows of x that the loaded positions of y read, from the column under the filter's first column on. */
DEVICE void stage_x(LOCAL_POINTER float *to, GLOBAL const ELEMENT *x, const struct image *image,
                    int oh, int first, int item)
{
    const int first_h = oh * STRIDE_H - image->pad_h;
    const int begins = (first * STRIDE_W - image->pad_w) * STEP, lead = begins & (CHUNK - 1);
    for (int begin = item; begin < LINES * LINE_CHUNKS; begin += BATCH_CHUNKS * ITEMS) {
        struct chunk chunks[BATCH_CHUNKS];
        UNROLL for (int i = 0; i < BATCH_CHUNKS; i++)
        {
            int at = begin + i * ITEMS, there;
            int from = find_x(image, at / LINE_CHUNKS, begins - lead + at % LINE_CHUNKS * CHUNK,
                              first_h, &there);
            chunks[i] = load_chunk(x + from, there);
        }
        UNROLL for (int i = 0; i < BATCH_CHUNKS; i++)
        {
            int at = begin + i * ITEMS;
            if (at < LINES * LINE_CHUNKS)
                UNROLL for (int e = 0; e < CHUNK; e++)
                    lay_x(to, at / LINE_CHUNKS, at % LINE_CHUNKS * CHUNK - lead + e,
                          chunk_value(chunks[i], e));
        }
    }
}

#else

DEVICE void stage_x(LOCAL_POINTER float *to, GLOBAL const ELEMENT *x, const struct image *image,
                    int oh, int first, int item)
{
    const int first_h = oh * STRIDE_H - image->pad_h;
    const int begins = (first * STRIDE_W - image->pad_w) * STEP;
    for (int begin = item; begin < LINES * LINE_WIDTH; begin += BATCH * ITEMS) {
        float values[BATCH];
        UNROLL for (int i = 0; i < BATCH; i++)
        {
            int at = begin + i * ITEMS, there;
            int from = find_x(image, at / LINE_WIDTH, begins + at % LINE_WIDTH, first_h, &there);
            values[i] = 0;
            if (there)
                values[i] = value_at(x + from);
        }
        UNROLL for (int i = 0; i < BATCH; i++)
        {
            int at = begin + i * ITEMS;
            if (at < LINES * LINE_WIDTH)
                lay_x(to, at / LINE_WIDTH, at % LINE_WIDTH, values[i]);
        }
    }
}

#endif

/* Adds the products of four positions: `y` begins at the work-item's first output channel, x at its filter row. */
DEVICE void add_positions(struct sums *sums, LOCAL_POINTER const float *y,
                          LOCAL_POINTER const float *x)
{
    struct quad rows[TILE_K];
    UNROLL for (int i = 0; i < TILE_K; i++) rows[i] = QUAD_AT(y + i * (ITEMS_K * Y_PITCH));
    UNROLL for (int c = 0; c < C; c++)
    {
        float line[SPAN];
        UNROLL for (int i = 0; i < SPAN; i += 4)
        {
            struct quad four = QUAD_AT(x + c * (FIL_H * X_PITCH) + i);
            UNROLL for (int e = 0; e < 4; e++) line[i + e] = four.lane[e];
        }
        UNROLL for (int p = 0; p < 4; p++) UNROLL for (int i = 0; i < TILE_K; i++)
            UNROLL for (int s = 0; s < FIL_W; s++)
                sums->at[i][c][s] += rows[i].lane[p] * line[p * STRIDE_W + s * DILATION_W];
    }
}

/* Adds up the sums of the SHARES work-items that share the same output channels: one after the other adds its sums to
 * local memory, and the last one gets the total. */
DEVICE void add_shares(struct sums *sums, LOCAL_POINTER float *memory, int place, int share)
{
    for (int turn = 0; turn < SHARES; turn++) {
        if (turn == share) {
            UNROLL for (int i = 0; i < SUMS; i++)
            {
                LOCAL_POINTER float *at = memory + i * (ITEMS_K * FIL_H) + place;
                float *own = &sums->at[i / (C * FIL_W)][i / FIL_W % C][i % FIL_W];
                if (turn > 0)
                    *own += *at;
                *at = *own;
            }
        }
        BARRIER();
    }
}

FEW_KERNEL
conv_few_channels_w(GLOBAL const ELEMENT *RESTRICT y, GLOBAL const ELEMENT *RESTRICT x,
                    GLOBAL float *RESTRICT parts, int k, int in_h, int in_w, int out_h, int out_w,
                    int pad_h, int pad_w, int rows, int part, int blocks)
{
    LOCAL_ARRAY struct quad memory[LOCAL_QUADS];
    LOCAL_POINTER float *values = (LOCAL_POINTER float *)(LOCAL_POINTER void *)memory;
    LOCAL_POINTER float *lines = values + BLOCK_K * Y_PITCH;
    const struct image image = {k, in_h, in_w, out_h, out_w, pad_h, pad_w};
    const int item = (int)LOCAL_ID(0), group = (int)GROUP_ID(0);
    const int own_k = item % ITEMS_K, tap = item / ITEMS_K % FIL_H,
              share = item / (ITEMS_K * FIL_H);
    const int channel = group % blocks * BLOCK_K;
    const int begin = group / blocks * part, end = begin + part < rows ? begin + part : rows;
    struct sums sums;

    UNROLL for (int i = 0; i < TILE_K; i++) UNROLL for (int c = 0; c < C; c++)
        UNROLL for (int s = 0; s < FIL_W; s++) sums.at[i][c][s] = 0;
    for (int row = begin; row < end; row++) {
        const int n = row / out_h, oh = row % out_h;
        for (int first = 0; first < out_w; first += STEP_W) {
            stage_y(values, y + (i64)n * k * out_h * out_w, &image, oh, first, channel, item);
            stage_x(lines, x + (i64)n * C * in_h * in_w, &image, oh, first, item);
            BARRIER();
#pragma unroll 1
            for (int at = share * 4; at < STEP_W; at += SHARES * 4)
                add_positions(&sums, values + own_k * Y_PITCH + at,
                              lines + tap * X_PITCH + at * STRIDE_W);
            BARRIER();
        }
    }
#if SHARES > 1
    add_shares(&sums, values, item % (ITEMS_K * FIL_H), share);
#endif
    if (share != SHARES - 1)
        return;
    parts += (i64)(group / blocks) * k * (C * FIL_H * FIL_W);
    UNROLL for (int i = 0; i < TILE_K; i++)
    {
        const int row = channel + own_k + i * ITEMS_K;
        if (row < k)
            UNROLL for (int c = 0; c < C; c++) UNROLL for (int s = 0; s < FIL_W; s++)
                parts[(i64)row * (C * FIL_H * FIL_W) +
                      (NHWC ? (tap * FIL_W + s) * C + c : (c * FIL_H + tap) * FIL_W + s)] =
                    sums.at[i][c][s];
    }
}
