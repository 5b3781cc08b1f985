/*
 * 2D convolutions whose result has few channels, on NVIDIA's matrix units (mma.sync), FP16 or BF16, packed tensors: F with
 * few output channels and B with few input channels.
 *
 *   F: y[n][k][oh][ow] = the sum over c and the filter's positions of x[n][c][ih][iw] * w
 *   B: x[n][c][ih][iw] = the sum over k and the filter's positions of y[n][k][oh][ow] * w
 *
 * Below, the tensor with many channels is the source, these channels are the terms, the other tensor is the result and its
 * channels are outputs. A matrix instruction needs 8 columns. To pad the outputs to 8 for each position of the filter
 * would waste most of the work; instead every position and output together is a column (TAPS * OUTPUTS of them). A
 * workgroup first multiplies the part of the source that its tile of the result meets with all columns, so that each
 * element of the source is read once. Then it has for each position of the source and each column a product, in local
 * memory, and each element of the result adds up those that it meets.
 *
 * Each warp multiplies 16 TILES_M positions, which it copies itself (fragments.h), DEPTH blocks of 32 terms at a time. The
 * whole filter is copied to local memory and brought into the order of lanes there.
 *
 * Options: DIRECTION_F or DIRECTION_B; TYPE, LANE (float), NHWC (else all tensors are NCHW), TERMS, OUTPUTS, FIL_H, FIL_W,
 * STRIDE_H, STRIDE_W, DILATION_H, DILATION_W; TILE_H and TILE_W, positions of the result; REGION_H and REGION_W, positions
 * of the source that the tile meets, REGION_W a multiple of 8 in NCHW; WARPS, TILES_M, DEPTH; PIECE, elements of a copy;
 * those of an epilogue (epilogue.h).
 * Grid: tiles, along the width fastest, then the height, then images.
 */
#include "dialect.h"
#include "epilogue.h"

#define ITEMS (32 * WARPS)
#define NEAR  0

#include "matrix_nvidia.h"

#include "fragments.h"

#define TAPS      (FIL_H * FIL_W)
#define COLUMNS   (TAPS * OUTPUTS)
#define TILES_N   ((COLUMNS + 7) / 8)
#define MATRICES  (2 * TILES_M)
#define STEPS     ((TERMS + FRAGMENT_TERMS - 1) / FRAGMENT_TERMS)
#define POSITIONS (REGION_H * REGION_W)
/* Elements of the filter from term to term, position to position, and output to output. */
#if defined(DIRECTION_B)
#define TERM_STEP   COLUMNS
#define TAP_STEP    (NHWC ? OUTPUTS : 1)
#define OUTPUT_STEP (NHWC ? 1 : TAPS)
#else
#define TERM_STEP   (NHWC ? 1 : TAPS)
#define TAP_STEP    (NHWC ? TERMS : 1)
#define OUTPUT_STEP (TERMS * TAPS)
#endif

/* Local memory: the filter in the order of lanes, the warps' copies, the filter as it is. Then the products, of which a
 * position's have a pitch against bank conflicts. */
#define FILTER_BYTES  (STEPS * TILES_N * FRAGMENT_BYTES)
#define BLOCK_BYTES   (MATRICES * FRAGMENT_BYTES)
#define WARP_BYTES    (DEPTH * BLOCK_BYTES)
#define PLAIN_PLACE   (FILTER_BYTES + WARPS * WARP_BYTES)
#define PLAIN_COUNT   (TERMS * COLUMNS)
#define PRODUCT_PITCH (TILES_N * 8 + 4)

struct sizes {
    int source_h, source_w, result_h, result_w, pad_h, pad_w;
};

/* The workgroup's tile: its first position in the result, and the first one that it meets in the source. */
struct tile {
    int h, w, source_h, source_w;
};

/* The quotient rounded up, for a numerator that may be negative. */
DEVICE int quotient_up(int numerator, int by)
{
    return numerator > 0 ? (numerator + by - 1) / by : -(-numerator / by);
}

DEVICE struct tile find_tile(const struct sizes *s, int number, int tiles_h, int tiles_w)
{
    struct tile tile;
    tile.h = number / tiles_w % tiles_h * TILE_H;
    tile.w = number % tiles_w * TILE_W;
#if defined(DIRECTION_B)
    tile.source_h = quotient_up(tile.h + s->pad_h - (FIL_H - 1) * DILATION_H, STRIDE_H);
    tile.source_w = quotient_up(tile.w + s->pad_w - (FIL_W - 1) * DILATION_W, STRIDE_W);
#else
    tile.source_h = tile.h * STRIDE_H - s->pad_h;
    tile.source_w = tile.w * STRIDE_W - s->pad_w;
#endif
    if (!NHWC)
        tile.source_w &= ~7; /* copies begin at whole chunks */
    return tile;
}

/* ---- the source ---- */

/* The lane's elements of its warp's positions, as places in an image of the source. NHWC: for each matrix the first term
 * of a position, -1 for a position outside of the image. NCHW: neighbouring positions of the first term, of which the
 * image has `left`. */
struct own_places {
    int at[MATRICES];
    int left;
};

DEVICE struct own_places find_places(const struct sizes *s, const struct tile *tile, int first,
                                     int lane)
{
    struct own_places own;
#if NHWC
    own.left = 0;
    UNROLL for (int m = 0; m < MATRICES; m++)
    {
        const int place = first + fragment_line(m, MATRICES, lane / 4);
        const int h = tile->source_h + place / REGION_W, w = tile->source_w + place % REGION_W;
        const int there =
            place < POSITIONS && h >= 0 && h < s->source_h && w >= 0 && w < s->source_w;
        own.at[m] = there ? (h * s->source_w + w) * TERMS : -1;
    }
#else
    const int place = first + lane % 4 * (2 * MATRICES);
    const int h = tile->source_h + place / REGION_W, w = tile->source_w + place % REGION_W;
    const int there = place < POSITIONS && h >= 0 && h < s->source_h && w >= 0 && w < s->source_w;
    own.at[0] = there ? h * s->source_w + w : 0;
    own.left = there ? s->source_w - w : 0;
#endif
    return own;
}

/* Starts to copy a block of terms of the warp's positions; zeros past the last term and outside of the image. */
DEVICE void copy_source(LOCAL_POINTER unsigned char *memory, unsigned to,
                        GLOBAL const half_bits *image, const struct own_places *own, int plane,
                        int term, int lane)
{
#if NHWC
    term += lane % 4 * 8;
    UNROLL for (int m = 0; m < MATRICES; m++)
        copy_elements(memory, to + m * FRAGMENT_BYTES + lane * 16,
                      image + (own->at[m] >= 0 && term < TERMS ? own->at[m] + term : 0),
                      own->at[m] >= 0 ? TERMS - term : 0, 8, PIECE);
#else
    term += lane / 8 * 8 + lane / 4 % 2;
    UNROLL for (int i = 0; i < 4; i++)
    {
        const int left = term + i * 2 < TERMS ? own->left : 0;
        copy_elements(memory, to + i * COPY_PITCH(2 * MATRICES) + lane * (4 * MATRICES),
                      image + (left > 0 ? (term + i * 2) * plane + own->at[0] : 0), left,
                      2 * MATRICES, PIECE);
    }
#endif
    end_stage();
}

/* ---- the filter ---- */

DEVICE void copy_filter(LOCAL_POINTER unsigned char *memory, unsigned to,
                        LOCAL_POINTER half_bits *plain, GLOBAL const half_bits *w, int item)
{
    for (int at = item * 8; at + 8 <= PLAIN_COUNT; at += ITEMS * 8)
        load_chunk(memory, to + at * 2, w + at, 1);
    for (int at = PLAIN_COUNT / 8 * 8 + item; at < PLAIN_COUNT; at += ITEMS)
        plain[at] = w[at];
    end_stage();
}

/* Brings the filter into the order of lanes: for each block of terms and each eight columns four words of a lane. */
DEVICE void lay_filter(LOCAL_POINTER unsigned *to, LOCAL_POINTER const half_bits *plain, int item)
{
    for (int at = item; at < FILTER_BYTES / 4; at += ITEMS) {
        const int lane = at / 4 % 32, column = at / 128 % TILES_N * 8 + lane / 4;
        const int term = at / 128 / TILES_N * FRAGMENT_TERMS + lane % 4 * 8 + at % 4 * 2;
        LOCAL_POINTER const half_bits *from =
            plain + column / OUTPUTS * TAP_STEP + column % OUTPUTS * OUTPUT_STEP + term * TERM_STEP;
        unsigned pair = 0;
        if (column < COLUMNS && term < TERMS)
            pair = from[0];
        if (column < COLUMNS && term + 1 < TERMS)
            pair |= (unsigned)from[TERM_STEP] << 16;
        to[at] = pair;
    }
}

/* ---- the products ---- */

DEVICE void multiply_block(LOCAL_POINTER unsigned char *memory, unsigned block, unsigned filter,
                           LANE sums[TILES_M][TILES_N][4], int item)
{
    unsigned a[MATRICES][4];
#if NHWC
    words_by_line(memory, block, MATRICES, MATRICES, a, item);
#else
    words_by_term(memory, block, MATRICES, MATRICES, a, item);
#endif
    UNROLL for (int n = 0; n < TILES_N; n++)
    {
        unsigned b[4];
        words_at(memory, filter + n * FRAGMENT_BYTES + item % 32 * 16, 4, b);
        UNROLL for (int which = 0; which < 2; which++) UNROLL for (int m = 0; m < TILES_M; m++)
        {
            unsigned rows[4];
            operand_a(&a[2 * m], which, rows);
            multiply(memory, sums[m][n], rows, &b[which * 2], item);
        }
    }
}

/* The products that an element of the result meets: those of output `output` and the tile's position (h, w). */
DEVICE float sum_of(LOCAL_POINTER const float *products, const struct sizes *s,
                    const struct tile *tile, int h, int w, int output)
{
    float sum = 0;
    for (int r = 0; r < FIL_H; r++) {
        UNROLL for (int t = 0; t < FIL_W; t++)
        {
#if defined(DIRECTION_B)
            const int down = tile->h + h + s->pad_h - r * DILATION_H - tile->source_h * STRIDE_H;
            const int across = tile->w + w + s->pad_w - t * DILATION_W - tile->source_w * STRIDE_W;
            const int meets = down % STRIDE_H == 0 && across % STRIDE_W == 0;
            const int place = down / STRIDE_H * REGION_W + across / STRIDE_W;
#else
            const int across =
                (tile->w + w) * STRIDE_W - s->pad_w + t * DILATION_W - tile->source_w;
            const int meets = 1;
            const int place = (h * STRIDE_H + r * DILATION_H) * REGION_W + across;
#endif
            if (meets)
                sum += products[place * PRODUCT_PITCH + (r * FIL_W + t) * OUTPUTS + output];
        }
    }
    return sum;
}

/* `first`: the first element of the tile's image in the result. */
DEVICE void store_tile(GLOBAL half_bits *result, i64 first, LOCAL_POINTER const float *products,
                       const struct sizes *s, const struct tile *tile, int item EPILOGUE_PARAMETERS)
{
    for (int at = item; at < TILE_H * TILE_W * OUTPUTS; at += ITEMS) {
        const int output = NHWC ? at % OUTPUTS : at / (TILE_H * TILE_W);
        const int position = NHWC ? at / OUTPUTS : at % (TILE_H * TILE_W);
        const int h = position / TILE_W, w = position % TILE_W;
        const int row = tile->h + h, column = tile->w + w;
        const int place = NHWC ? (row * s->result_w + column) * OUTPUTS + output
                               : (output * s->result_h + row) * s->result_w + column;
        if (row < s->result_h && column < s->result_w)
            EPILOGUE_STORE(TYPE, result, first + place, sum_of(products, s, tile, h, w, output),
                           output);
    }
}

KERNEL(ITEMS, 1, 1)
conv_few_outputs(GLOBAL const half_bits *RESTRICT source, GLOBAL const half_bits *RESTRICT w,
                 GLOBAL half_bits *RESTRICT result, int source_h, int source_w, int result_h,
                 int result_w, int pad_h, int pad_w, int tiles_h,
                 int tiles_w EPILOGUE_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const struct sizes sizes = {source_h, source_w, result_h, result_w, pad_h, pad_w};
    const int item = (int)LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int number = (int)GROUP_ID(0), plane = source_h * source_w;
    const int image = number / tiles_w / tiles_h;
    const struct tile tile = find_tile(&sizes, number, tiles_h, tiles_w);
    const struct own_places own = find_places(&sizes, &tile, warp * 16 * TILES_M, lane);
    LANE sums[TILES_M][TILES_N][4];
    OPEN_LOCAL_MEMORY;
    const unsigned memory = local_place(local_memory);
    const unsigned blocks = memory + FILTER_BYTES + warp * WARP_BYTES;
    LOCAL_POINTER float *products = (LOCAL_POINTER float *)(LOCAL_POINTER void *)local_memory;
    LOCAL_POINTER half_bits *plain =
        (LOCAL_POINTER half_bits *)(LOCAL_POINTER void *)(local_memory + PLAIN_PLACE);

    source += (i64)image * plane * TERMS;
    copy_filter(local_memory, memory + PLAIN_PLACE, plain, w, item);
    UNROLL for (int d = 0; d < DEPTH; d++) copy_source(
        local_memory, blocks + d * BLOCK_BYTES, source, &own, plane, d * FRAGMENT_TERMS, lane);
    UNROLL for (int m = 0; m < TILES_M; m++) UNROLL for (int n = 0; n < TILES_N; n++)
        UNROLL for (int e = 0; e < 4; e++) sums[m][n][e] = 0;
    AWAIT_STAGES(DEPTH);
    BARRIER();
    lay_filter((LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)local_memory, plain, item);
    BARRIER();
#if !defined(MATRIX_EMULATED)
#pragma unroll 1
#endif
    for (int step = 0; step < STEPS; step++) {
        const unsigned block = blocks + step % DEPTH * BLOCK_BYTES;
        AWAIT_STAGES(DEPTH - 1);
        multiply_block(local_memory, block, memory + step * TILES_N * FRAGMENT_BYTES, sums, item);
        copy_source(local_memory, block, source, &own, plane, (step + DEPTH) * FRAGMENT_TERMS,
                    lane);
    }
    AWAIT_STAGES(0);
    BARRIER();
    UNROLL for (int m = 0; m < TILES_M; m++) UNROLL for (int n = 0; n < TILES_N; n++)
        UNROLL for (int e = 0; e < 4; e++)
    {
        const int place = warp * 16 * TILES_M + fragment_line(2 * m + e / 2, MATRICES, lane / 4);
        products[place * PRODUCT_PITCH + n * 8 + lane % 4 * 2 + e % 2] = sums[m][n][e];
    }
    BARRIER();
    store_tile(result, (i64)image * result_h * result_w * OUTPUTS, products, &sizes, &tile,
               item EPILOGUE_ARGUMENTS);
}
