/*
 * Backward data (B) of 2D convolutions with few input channels: x[n][c][ih][iw] = the sum over k and the filter of y
 * times w, all tensors packed.
 *
 * Positions of x, counted from the padding's start, are grouped in cells of STRIDE: ih = STRIDE_H * i + phase -
 * pad. A filter position r meets one phase, r * DILATION % STRIDE, and reads there y's row i - r * DILATION /
 * STRIDE. A work-item computes TILE_W neighbouring cells with all their phases and channels, so that each value
 * of y that it reads is multiplied by every weight that meets it. A workgroup has ITEMS_H rows of ITEMS_W
 * work-items. It copies its part of y into local memory STEP_K channels at a time, together with their filters.
 *
 * Options: TYPE, NHWC, C, FIL_H, FIL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W; TILE_W (a multiple of 4),
 * ITEMS_W, ITEMS_H, STEP_K; CHUNKED, 1 where NHWC's k and STEP_K are whole chunks of 16 bytes.
 */
#include "few_channels.h"

#define ITEMS         (ITEMS_W * ITEMS_H)
#define WEIGHTS       (FIL_H * FIL_W * C)
#define WEIGHTS_PITCH UP_TO_FOURS(WEIGHTS)

#define PHASE_H(tap) ((tap)*DILATION_H % STRIDE_H)
#define PHASE_W(tap) ((tap)*DILATION_W % STRIDE_W)
#define SHIFT_H(tap) ((tap)*DILATION_H / STRIDE_H)
#define SHIFT_W(tap) ((tap)*DILATION_W / STRIDE_W)
#define REACH_H      SHIFT_H(FIL_H - 1)
#define REACH_W      SHIFT_W(FIL_W - 1)

/* Sizes of the part of y that a workgroup copies to local memory, and the columns (SPAN) of one of its rows that a
 * work-item reads. */
#define ROWS    (ITEMS_H + REACH_H)
#define COLUMNS (ITEMS_W * TILE_W + UP_TO_FOURS(REACH_W))
#define PLACES  (ROWS * COLUMNS)
#define SPAN    (TILE_W + UP_TO_FOURS(REACH_W))

#define REGISTERS (STRIDE_H * STRIDE_W * C * TILE_W + SPAN + 64)

/* Columns of x that a workgroup computes in each row. Its results pass through local memory, row by row with this
 * many columns, before they are stored. */
#define CELL_COLUMNS (ITEMS_W * TILE_W * STRIDE_W)
#define RESULTS      (ITEMS_H * C * CELL_COLUMNS)
#define STAGED       (STEP_K * (PLACES + WEIGHTS_PITCH))
#define LOCAL_QUADS  ((STAGED > RESULTS ? STAGED : RESULTS) / 4)

struct sums {
    float at[STRIDE_H][STRIDE_W][C][TILE_W];
};

struct image {
    int k, in_h, in_w, out_h, out_w, pad_h, pad_w;
};

/* Copies STEP_K channels of y, from channel `first` on, to local memory: the workgroup's part, which begins at row
 * and column. */
DEVICE void stage_y(LOCAL_POINTER float *to, GLOBAL const ELEMENT *y, const struct image *image,
                    int row, int column, int first, int item)
{
    for (int place = item; place < PLACES; place += ITEMS) {
        int oh = row + place / COLUMNS, ow = column + place % COLUMNS;
        int there = oh >= 0 && oh < image->out_h && ow >= 0 && ow < image->out_w;
        int at = there ? oh * image->out_w + ow : 0;
#if CHUNKED
        GLOBAL const ELEMENT *from = y + at * image->k + first;
        UNROLL for (int k = 0; k < STEP_K; k += CHUNK)
        {
            struct chunk chunk = load_chunk(from + k, there && first + k < image->k);
            UNROLL for (int i = 0; i < CHUNK; i++) to[(k + i) * PLACES + place] =
                chunk_value(chunk, i);
        }
#else
        const int step = NHWC ? 1 : image->out_h * image->out_w;
        GLOBAL const ELEMENT *from = y + (NHWC ? at * image->k : at) + first * step;
        UNROLL for (int k = 0; k < STEP_K; k++)
        {
            float value = 0;
            if (there && first + k < image->k)
                value = value_at(from + k * step);
            to[k * PLACES + place] = value;
        }
#endif
    }
}

/* Copies the weights of the same STEP_K channels to local memory, with the channels of a filter position as
 * neighbours. */
DEVICE void stage_w(LOCAL_POINTER float *to, GLOBAL const ELEMENT *w, int channels, int first,
                    int item)
{
    w += (i64)first * WEIGHTS;
    for (int at = item; at < STEP_K * WEIGHTS; at += ITEMS) {
        int k = at / WEIGHTS, weight = at % WEIGHTS;
        int from = NHWC ? weight : weight % C * (FIL_H * FIL_W) + weight / C;
        float value = 0;
        if (first + k < channels)
            value = value_at(w + k * WEIGHTS + from);
        to[k * WEIGHTS_PITCH + weight] = value;
    }
}

/* Adds the products of one channel of y: each value in the work-item's span of rows times each weight that meets it.
 * */
DEVICE void add_channel(struct sums *sums, LOCAL_POINTER const float *y,
                        LOCAL_POINTER const float *w)
{
    float line[SPAN];
    struct quad weights = {{0, 0, 0, 0}};
    UNROLL for (int r = 0; r < FIL_H; r++)
    {
        if (r == 0 || SHIFT_H(r) != SHIFT_H(r - 1)) {
            UNROLL for (int i = 0; i < SPAN; i += 4)
            {
                struct quad four = QUAD_AT(y + (REACH_H - SHIFT_H(r)) * COLUMNS + i);
                UNROLL for (int e = 0; e < 4; e++) line[i + e] = four.lane[e];
            }
        }
        UNROLL for (int s = 0; s < FIL_W; s++) UNROLL for (int c = 0; c < C; c++)
        {
            const int weight = (r * FIL_W + s) * C + c;
            if (weight % 4 == 0)
                weights = QUAD_AT(w + weight);
            UNROLL for (int p = 0; p < TILE_W; p++) sums->at[PHASE_H(r)][PHASE_W(s)][c][p] +=
                weights.lane[weight % 4] * line[p + REACH_W - SHIFT_W(s)];
        }
    }
}

/* ---- out ---- */

/* Puts the work-item's results for one row phase of its cells into local memory in the order of x, for contiguous
 * stores. */
DEVICE void lay_results(LOCAL_POINTER float *to, const struct sums *sums, int phase, int item)
{
    const int row = item / ITEMS_W, first = item % ITEMS_W * TILE_W * STRIDE_W;
    const int count = TILE_W * STRIDE_W * C;
    UNROLL for (int i = 0; i < count; i += 4)
    {
        struct quad four;
        UNROLL for (int e = 0; e < 4; e++)
        {
            const int channel = NHWC ? (i + e) % C : (i + e) / (TILE_W * STRIDE_W);
            const int column = NHWC ? (i + e) / C : (i + e) % (TILE_W * STRIDE_W);
            four.lane[e] = sums->at[phase][column % STRIDE_W][channel][column / STRIDE_W];
        }
        QUAD_AT(to + row * C * CELL_COLUMNS +
                (NHWC ? first * C + i
                      : i / (TILE_W * STRIDE_W) * CELL_COLUMNS + first + i % (TILE_W * STRIDE_W))) =
            four;
    }
}

/* Stores the results in local memory to x: from row first_ih on, every STRIDE_H-th row, from column first_iw on. */
DEVICE void store_results(GLOBAL ELEMENT *x, LOCAL_POINTER const float *from,
                          const struct image *image, int first_ih, int first_iw, int item)
{
    for (int at = item; at < RESULTS; at += ITEMS) {
        int row = at / (C * CELL_COLUMNS), rest = at % (C * CELL_COLUMNS);
        int c = NHWC ? rest % C : rest / CELL_COLUMNS;
        int column = NHWC ? rest / C : rest % CELL_COLUMNS;
        int ih = first_ih + row * STRIDE_H, iw = first_iw + column;
        if (ih >= 0 && ih < image->in_h && iw >= 0 && iw < image->in_w)
            put_value(x + (NHWC ? (ih * image->in_w + iw) * C + c
                                : (c * image->in_h + ih) * image->in_w + iw),
                      from[at]);
    }
}

/* first_h and first_w: numbers of the first cells (STRIDE positions each, counted from the start of the padding) that
 * contain positions of x. */
FEW_KERNEL
conv_few_channels_b(GLOBAL const ELEMENT *RESTRICT y, GLOBAL const ELEMENT *RESTRICT w,
                    GLOBAL ELEMENT *RESTRICT x, int k, int in_h, int in_w, int out_h, int out_w,
                    int pad_h, int pad_w, int first_h, int first_w, int tiles_h, int tiles_w)
{
    LOCAL_ARRAY struct quad memory[LOCAL_QUADS];
    LOCAL_POINTER float *values = (LOCAL_POINTER float *)(LOCAL_POINTER void *)memory;
    LOCAL_POINTER float *weights = values + STEP_K * PLACES;
    const struct image image = {k, in_h, in_w, out_h, out_w, pad_h, pad_w};
    const int item = (int)LOCAL_ID(0), group = (int)GROUP_ID(0);
    const int n = group / (tiles_h * tiles_w);
    const int cell_h = first_h + group / tiles_w % tiles_h * ITEMS_H;
    const int cell_w = first_w + group % tiles_w * (ITEMS_W * TILE_W);
    const int own = item / ITEMS_W * COLUMNS + item % ITEMS_W * TILE_W;
    struct sums sums;

    y += (i64)n * k * out_h * out_w;
    x += (i64)n * C * in_h * in_w;
    UNROLL for (int a = 0; a < STRIDE_H; a++) UNROLL for (int b = 0; b < STRIDE_W; b++)
        UNROLL for (int c = 0; c < C; c++) UNROLL for (int p = 0; p < TILE_W; p++)
            sums.at[a][b][c][p] = 0;
    for (int first = 0; first < k; first += STEP_K) {
        stage_y(values, y, &image, cell_h - REACH_H, cell_w - REACH_W, first, item);
        stage_w(weights, w, k, first, item);
        BARRIER();
#pragma unroll 1
        for (int channel = 0; channel < STEP_K; channel++)
            add_channel(&sums, values + channel * PLACES + own, weights + channel * WEIGHTS_PITCH);
        BARRIER();
    }
    UNROLL for (int a = 0; a < STRIDE_H; a++)
    {
        lay_results(values, &sums, a, item);
        BARRIER();
        store_results(x, values, &image, cell_h * STRIDE_H + a - pad_h, cell_w * STRIDE_W - pad_w,
                      item);
        BARRIER();
    }
}
