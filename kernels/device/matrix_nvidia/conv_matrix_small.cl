/*
 * Small matrix products on NVIDIA's matrix units (mma.sync), FP16 or BF16: result[row][column] = the sum over the terms
 * of a times b. All three are packed matrices.
 *
 *   F: a[row][term], b[column][term]      B: a[row][term], b[term][column]      W: a[term][row], b[term][column]
 *
 * Waiting for memory takes the time of such products, so that many warps have to load at once, from few elements. A
 * workgroup computes a tile of 16 TILES_M rows by 8 TILES_N columns. Each of its SHARES warps computes the whole tile
 * from every SHARES-th block of 32 terms. It keeps the copies of DEPTH blocks in flight (fragments.h), and waits for no
 * other warp. At the end the warps' sums are added up in local memory, in the order of the shares.
 *
 * With the option TAPS, the number of the filter's positions, the rows of a are gathered instead: convolutions of NHWC
 * images, F, and B with stride 1. A row is a position of the result, and its terms are the filter's positions with
 * CHANNELS terms each, a multiple of 32, so that a block of terms belongs to one position of the filter:
 *
 *   F: a[position][channel], b[column][tap][channel]      B: a[position][channel], b[channel][tap][column]
 *
 * Options: DIRECTION_*; TYPE, LANE (float); TILES_M, TILES_N, SHARES, DEPTH; PIECE_A and PIECE_B, elements of a copy;
 * PAIRS, 1 where the number of columns is even; with TAPS also CHANNELS, FIL_W, STRIDE_H, STRIDE_W, and STEP_H and STEP_W, the
 * positions of a from one of the filter's to the next (in B negative); those of an epilogue (epilogue.h), whose last arguments follow
 * `channel_step` and `channels`: column / channel_step % channels is the output's channel.
 * Grid: one workgroup for each tile; tiles of one block of rows follow each other.
 */
#include "dialect.h"
#include "epilogue.h"

#define ITEMS (32 * SHARES)
#define NEAR  0

#include "matrix_nvidia.h"

#include "fragments.h"

#if defined(DIRECTION_W)
#define COPY_A  copy_by_term
#define WORDS_A words_by_term
#else
#define COPY_A  copy_by_line
#define WORDS_A words_by_line
#endif
#if defined(DIRECTION_F)
#define COPY_B  copy_by_line
#define WORDS_B words_by_line
#else
#define COPY_B  copy_by_term
#define WORDS_B words_by_term
#endif

#define MATRICES_A  (2 * TILES_M)
#define GROUP_A     (MATRICES_A < 4 ? MATRICES_A : 4)
#define GROUP_B     (TILES_N < 4 ? TILES_N : 4)
#define BLOCK_M     (16 * TILES_M)
#define BLOCK_N     (8 * TILES_N)
/* Pairs of neighbouring sums of a lane. In local memory the lanes' pairs have a pitch that is odd, against bank
 * conflicts. */
#define UNITS       (2 * TILES_M * TILES_N)
#define UNIT_PITCH  (33 * 2)
/* Bytes of a block of terms in local memory, and of a warp's blocks. */
#define BLOCK_BYTES ((MATRICES_A + TILES_N) * FRAGMENT_BYTES)
#define WARP_BYTES  (DEPTH * BLOCK_BYTES)

#ifdef EPILOGUE
#define CHANNEL_PARAMETERS , int channel_step, int channels EPILOGUE_PARAMETERS
#define CHANNEL_ARGUMENTS  , channel_step, channels EPILOGUE_ARGUMENTS
#else
#define CHANNEL_PARAMETERS
#define CHANNEL_ARGUMENTS
#endif

#ifdef TAPS
/* Sizes of a's images and of the result's. pad_h, pad_w: the distance from the first position that a row meets to the
 * row's own; in B the row's own comes first, and they are negative. */
struct image {
    int in_h, in_w, out_h, out_w, pad_h, pad_w;
};
#define IMAGE_PARAMETERS , int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w
/* The first positions that the lane's rows meet: in all images, and in their own one. */
struct met {
    int at[MATRICES_A], h[MATRICES_A], w[MATRICES_A];
};
#define NOWHERE (-(1 << 30))
#else
#define IMAGE_PARAMETERS
#endif

struct operands {
    GLOBAL const half_bits *a, *b;
    int row, rows, column, columns, terms;
#ifdef TAPS
    struct image image;
    struct met met;
#endif
};

#ifdef TAPS

DEVICE void find_rows(struct operands *operands, int lane)
{
    const struct image *image = &operands->image;
    UNROLL for (int m = 0; m < MATRICES_A; m++)
    {
        const int row = operands->row + fragment_line(m, GROUP_A, lane / 4);
        const int h = row / image->out_w % image->out_h * STRIDE_H - image->pad_h;
        const int w = row % image->out_w * STRIDE_W - image->pad_w;
        const int n = row / image->out_w / image->out_h;
        operands->met.h[m] = row < operands->rows ? h : NOWHERE;
        operands->met.w[m] = w;
        operands->met.at[m] = (n * image->in_h + h) * image->in_w + w;
    }
}

/* Starts to copy a block of terms of both operands; zeros past the last term and outside of images. */
DEVICE void copy_block(LOCAL_POINTER unsigned char *memory, unsigned to,
                       const struct operands *from, int term, int lane)
{
    const int tap = term / CHANNELS, channel = term % CHANNELS;
    const int down = tap / FIL_W * STEP_H, across = tap % FIL_W * STEP_W;
    const int is_term = term < from->terms;
    UNROLL for (int m = 0; m < MATRICES_A; m++)
    {
        const int h = from->met.h[m] + down, w = from->met.w[m] + across;
        const int there =
            is_term && h >= 0 && h < from->image.in_h && w >= 0 && w < from->image.in_w;
        const int at = there ? from->met.at[m] + down * from->image.in_w + across : 0;
        copy_elements(memory, to + m * FRAGMENT_BYTES + lane * 16,
                      from->a + (i64)at * CHANNELS + (there ? channel + lane % 4 * 8 : 0),
                      there ? 8 : 0, 8, 8);
    }
    to += MATRICES_A * FRAGMENT_BYTES;
#if defined(DIRECTION_F)
    copy_by_line(memory, to, from->b, from->column, from->columns, term, from->terms, TILES_N,
                 GROUP_B, PIECE_B, lane);
#else
    copy_by_pitch(memory, to, from->b + (is_term ? tap : 0) * from->columns, TAPS * from->columns,
                  from->column, from->columns, channel, is_term ? CHANNELS : 0, TILES_N, GROUP_B,
                  PIECE_B, lane);
#endif
    end_stage();
}

#else

/* Starts to copy a block of terms of both operands; zeros past the last term. */
DEVICE void copy_block(LOCAL_POINTER unsigned char *memory, unsigned to,
                       const struct operands *from, int term, int lane)
{
    COPY_A(memory, to, from->a, from->row, from->rows, term, from->terms, MATRICES_A, GROUP_A,
           PIECE_A, lane);
    COPY_B(memory, to + MATRICES_A * FRAGMENT_BYTES, from->b, from->column, from->columns, term,
           from->terms, TILES_N, GROUP_B, PIECE_B, lane);
    end_stage();
}

#endif

DEVICE void multiply_block(LOCAL_POINTER unsigned char *memory, unsigned from,
                           LANE sums[TILES_M][TILES_N][4], int item)
{
    unsigned a[MATRICES_A][4], b[TILES_N][4];
    WORDS_A(memory, from, MATRICES_A, GROUP_A, a, item);
    WORDS_B(memory, from + MATRICES_A * FRAGMENT_BYTES, TILES_N, GROUP_B, b, item);
    UNROLL for (int which = 0; which < 2; which++) UNROLL for (int m = 0; m < TILES_M; m++)
    {
        unsigned rows[4];
        operand_a(&a[2 * m], which, rows);
        UNROLL for (int n = 0; n < TILES_N; n++)
            multiply(memory, sums[m][n], rows, &b[n][which * 2], item);
    }
}

/* Where the sums of a row and an even column of the tile, and of the next column, are in a share's part of local
 * memory. */
DEVICE int place_of(int row, int column)
{
    const int row_rest = row % (8 * GROUP_A), column_rest = column % (8 * GROUP_B);
    const int row_matrix = row / (8 * GROUP_A) * GROUP_A + row_rest % (2 * GROUP_A) / 2;
    const int column_matrix = column / (8 * GROUP_B) * GROUP_B + column_rest % (2 * GROUP_B) / 2;
    const int lane = (row_rest / (2 * GROUP_A) * 2 + row % 2) * 4 + column_rest / (2 * GROUP_B);
    return (row_matrix * TILES_N + column_matrix) * UNIT_PITCH + lane * 2;
}

/* Adds up the shares of all sums of the tile, and stores them: neighbouring work-items store neighbouring pairs. */
DEVICE void store_tile(GLOBAL half_bits *result, LOCAL_POINTER const float *shares, int first_row,
                       int rows, int first_column, int columns, int item CHANNEL_PARAMETERS)
{
    for (int unit = item; unit < UNITS * 32; unit += ITEMS) {
        const int row = first_row + unit / (BLOCK_N / 2);
        const int column = first_column + unit % (BLOCK_N / 2) * 2;
        const i64 at = (i64)row * columns + column;
        LOCAL_POINTER const float *from = shares + place_of(row - first_row, column - first_column);
        float sums[2] = {from[0], from[1]};
        if (row >= rows || column >= columns)
            continue;
        UNROLL for (int share = 1; share < SHARES; share++)
        {
            sums[0] += from[share * (UNITS * UNIT_PITCH)];
            sums[1] += from[share * (UNITS * UNIT_PITCH) + 1];
        }
#if defined(EPILOGUE)
        for (int i = 0; i < 2 && column + i < columns; i++)
            EPILOGUE_STORE(TYPE, result, at + i, sums[i], (column + i) / channel_step % channels);
#elif PAIRS
        *(GLOBAL unsigned *)(GLOBAL void *)(result + at) = pair_of(sums[0], sums[1]);
#else
        {
            const unsigned pair = pair_of(sums[0], sums[1]);
            result[at] = (half_bits)pair;
            if (column + 1 < columns)
                result[at + 1] = (half_bits)(pair >> 16);
        }
#endif
    }
}

KERNEL(ITEMS, 1, 1)
conv_matrix_small(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
                  GLOBAL half_bits *RESTRICT result, int rows, int columns, int terms,
                  int column_blocks IMAGE_PARAMETERS CHANNEL_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const int item = (int)LOCAL_ID(0), lane = item % 32, share = item / 32;
    struct operands operands = {a,
                                b,
                                (int)GROUP_ID(0) / column_blocks * BLOCK_M,
                                rows,
                                (int)GROUP_ID(0) % column_blocks * BLOCK_N,
                                columns,
                                terms};
    const int turns = (terms + SHARES * FRAGMENT_TERMS - 1) / (SHARES * FRAGMENT_TERMS);
    LANE sums[TILES_M][TILES_N][4];
    OPEN_LOCAL_MEMORY;
    const unsigned own = local_place(local_memory) + share * WARP_BYTES;
    LOCAL_POINTER float *shares = (LOCAL_POINTER float *)(LOCAL_POINTER void *)local_memory;

#ifdef TAPS
    const struct image image = {in_h, in_w, out_h, out_w, pad_h, pad_w};
    operands.image = image;
    find_rows(&operands, lane);
#endif
    UNROLL for (int m = 0; m < TILES_M; m++) UNROLL for (int n = 0; n < TILES_N; n++)
        UNROLL for (int e = 0; e < 4; e++) sums[m][n][e] = 0;
    UNROLL for (int turn = 0; turn < DEPTH; turn++)
        copy_block(local_memory, own + turn * BLOCK_BYTES, &operands,
                   (turn * SHARES + share) * FRAGMENT_TERMS, lane);
    /* All shares take the same number of turns. A copy goes where the block was that was just multiplied. */
    for (int turn = 0; turn < turns; turn++) {
        const unsigned place = own + turn % DEPTH * BLOCK_BYTES;
        AWAIT_STAGES(DEPTH - 1);
        multiply_block(local_memory, place, sums, item);
        copy_block(local_memory, place, &operands,
                   ((turn + DEPTH) * SHARES + share) * FRAGMENT_TERMS, lane);
    }
    AWAIT_STAGES(0);
    BARRIER();
    UNROLL for (int m = 0; m < TILES_M; m++) UNROLL for (int n = 0; n < TILES_N; n++)
        UNROLL for (int e = 0; e < 4; e++)
            shares[((share * 2 * TILES_M + 2 * m + e / 2) * TILES_N + n) * UNIT_PITCH + lane * 2 +
                   e % 2] = sums[m][n][e];
    BARRIER();
    store_tile(result, shares, operands.row, rows, operands.column, columns,
               item CHANNEL_ARGUMENTS);
}
