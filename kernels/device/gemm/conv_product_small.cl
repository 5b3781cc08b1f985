/*
 * Small matrix products on vector units: result[row][column] = the sum over the terms of a times b. All three are packed
 * matrices of one type.
 *
 *   F: a[row][term], b[column][term]      B: a[row][term], b[term][column]      W: a[term][row], b[term][column]
 *
 * Waiting for memory takes the time of such products, so that many work-items have to load at once. A workgroup computes a
 * tile of 4 LANES_M rows by 4 LANES_N columns. SHARES groups of LANES_M by LANES_N work-items each compute the whole tile
 * from every SHARES-th block of TERMS terms; a work-item has 4 by 4 sums. It loads its part of the next block into registers while it
 * multiplies a block in local memory. At the end the shares' sums are added up in local memory, in the order of the
 * shares.
 *
 * Options: DIRECTION_*; TYPE; LANES_M, LANES_N (4 or 8), SHARES, TERMS (a multiple of 4); A_IN_FOURS and B_IN_FOURS, 1
 * where the innermost size is a multiple of 4; those of an epilogue (epilogue.h), whose last arguments follow
 * `channel_step` and `channels`: column / channel_step % channels is the output's channel.
 * Grid: one workgroup for each tile; tiles of one block of rows follow each other.
 */
#include "dialect.h"
#include "epilogue.h"

#define ITEMS_A_SHARE (LANES_M * LANES_N)
#define ITEMS         (ITEMS_A_SHARE * SHARES)
#define BLOCK_M       (4 * LANES_M)
#define BLOCK_N       (4 * LANES_N)
/* Elements of local memory: of a term of both operands, each with a pitch against bank conflicts; of a share's block; of
 * a share's sums. */
#define PITCH_M       (BLOCK_M + 4)
#define PITCH_N       (BLOCK_N + 4)
#define BLOCK         (TERMS * (PITCH_M + PITCH_N))
#define SUMS          (BLOCK_M * BLOCK_N)
#define LOCAL_FLOATS  (SHARES * (BLOCK > SUMS ? BLOCK : SUMS))
/* Fours of a block that a work-item loads of an operand, rounded up. */
#define FOURS(lanes)  (((lanes)*TERMS + ITEMS_A_SHARE - 1) / ITEMS_A_SHARE)

#if defined(DIRECTION_W)
#define A_BY_TERM 1
#else
#define A_BY_TERM 0
#endif
#if defined(DIRECTION_F)
#define B_BY_TERM 0
#else
#define B_BY_TERM 1
#endif

/* Loop pragmas: UNROLL for loops over values in registers. The loop over terms stays a loop: in a straight line the
 * compiler would move the loads of the next block behind all products. */
#if defined(__OPENCL_VERSION__)
#define UNROLL      _Pragma("nounroll")
#define UNROLL_SOME _Pragma("nounroll")
#else
#define UNROLL      _Pragma("unroll")
#define UNROLL_SOME _Pragma("unroll 4")
#endif

struct ALIGNED(16) four {
    float lane[4];
};

struct ALIGNED(4 * sizeof(STORAGE(TYPE))) stored_four {
    STORAGE(TYPE) lane[4];
};

#ifdef EPILOGUE
#define CHANNEL_PARAMETERS , int channel_step, int channels EPILOGUE_PARAMETERS
#else
#define CHANNEL_PARAMETERS
#endif

/* Four neighbours, of which `left` are there; the others are not read, and are zeros. */
DEVICE struct four load_four(GLOBAL const STORAGE(TYPE) * from, int left, int in_fours)
{
    struct four result;
    if (in_fours) {
        struct stored_four stored = {{0, 0, 0, 0}};
        if (left > 0)
            stored = *(GLOBAL const struct stored_four *)(GLOBAL const void *)from;
        UNROLL for (int i = 0; i < 4; i++) result.lane[i] = LOAD(TYPE, stored.lane, i);
    } else {
        UNROLL for (int i = 0; i < 4; i++)
        {
            result.lane[i] = 0;
            if (i < left)
                result.lane[i] = LOAD(TYPE, from, i);
        }
    }
    return result;
}

/* Loads the work-item's fours of a block of an operand: four neighbouring lines of a term, or four terms of a line. */
DEVICE void load_block(GLOBAL const STORAGE(TYPE) * from, int by_term, int in_fours, int line,
                       int lines, int term, int terms, int lanes, struct four *to, int item)
{
    UNROLL for (int i = 0; i < FOURS(lanes); i++)
    {
        const int at = i * ITEMS_A_SHARE + item;
        if (by_term) {
            const int own_line = line + at % lanes * 4, own = term + at / lanes;
            const int there = at < lanes * TERMS && own < terms && own_line < lines;
            to[i] = load_four(from + (there ? (i64)own * lines + own_line : 0),
                              there ? lines - own_line : 0, in_fours);
        } else {
            const int own_line = line + at / (TERMS / 4), own = term + at % (TERMS / 4) * 4;
            const int there = at < lanes * TERMS && own < terms && own_line < lines;
            to[i] = load_four(from + (there ? (i64)own_line * terms + own : 0),
                              there ? terms - own : 0, in_fours);
        }
    }
}

/* Puts them into local memory, with the lines of a term as neighbours. */
DEVICE void lay_block(LOCAL_POINTER float *to, int by_term, int lanes, int pitch,
                      const struct four *fours, int item)
{
    UNROLL for (int i = 0; i < FOURS(lanes); i++)
    {
        const int at = i * ITEMS_A_SHARE + item;
        if (at < lanes * TERMS) {
            const int line = by_term ? at % lanes * 4 : at / (TERMS / 4);
            const int term = by_term ? at / lanes : at % (TERMS / 4) * 4;
            if (by_term)
                *(LOCAL_POINTER struct four *)(LOCAL_POINTER void *)(to + term * pitch + line) =
                    fours[i];
            else
                UNROLL for (int e = 0; e < 4; e++) to[(term + e) * pitch + line] = fours[i].lane[e];
        }
    }
}

KERNEL(ITEMS, 1, 1)
conv_product_small(GLOBAL const STORAGE(TYPE) * RESTRICT a, GLOBAL const STORAGE(TYPE) * RESTRICT b,
                   GLOBAL STORAGE(TYPE) * RESTRICT result, int rows, int columns, int terms,
                   int column_blocks CHANNEL_PARAMETERS)
{
    LOCAL_ARRAY struct four memory[LOCAL_FLOATS / 4];
    LOCAL_POINTER float *floats = (LOCAL_POINTER float *)(LOCAL_POINTER void *)memory;
    const int share = (int)LOCAL_ID(0) / ITEMS_A_SHARE, item = (int)LOCAL_ID(0) % ITEMS_A_SHARE;
    const int row = (int)GROUP_ID(0) / column_blocks * BLOCK_M;
    const int column = (int)GROUP_ID(0) % column_blocks * BLOCK_N;
    const int own_row = item / LANES_N * 4, own_column = item % LANES_N * 4;
    LOCAL_POINTER float *own_a = floats + share * BLOCK, *own_b = own_a + TERMS * PITCH_M;
    struct four next_a[FOURS(LANES_M)], next_b[FOURS(LANES_N)];
    float sums[4][4];

    UNROLL for (int r = 0; r < 4; r++) UNROLL for (int c = 0; c < 4; c++) sums[r][c] = 0;
    load_block(a, A_BY_TERM, A_IN_FOURS, row, rows, share * TERMS, terms, LANES_M, next_a, item);
    load_block(b, B_BY_TERM, B_IN_FOURS, column, columns, share * TERMS, terms, LANES_N, next_b,
               item);
    /* All shares take the same number of turns; blocks past the last term are zeros. */
    for (int first = 0; first < terms; first += SHARES * TERMS) {
        const int next = first + (SHARES + share) * TERMS;
        lay_block(own_a, A_BY_TERM, LANES_M, PITCH_M, next_a, item);
        lay_block(own_b, B_BY_TERM, LANES_N, PITCH_N, next_b, item);
        BARRIER();
        load_block(a, A_BY_TERM, A_IN_FOURS, row, rows, next, terms, LANES_M, next_a, item);
        load_block(b, B_BY_TERM, B_IN_FOURS, column, columns, next, terms, LANES_N, next_b, item);
        UNROLL_SOME for (int term = 0; term < TERMS; term++)
        {
            const struct four lines =
                *(LOCAL_POINTER const struct four *)(LOCAL_POINTER const void *)(own_a +
                                                                                 term * PITCH_M +
                                                                                 own_row);
            const struct four others =
                *(LOCAL_POINTER const struct four *)(LOCAL_POINTER const void *)(own_b +
                                                                                 term * PITCH_N +
                                                                                 own_column);
            UNROLL for (int r = 0; r < 4; r++) UNROLL for (int c = 0; c < 4; c++) sums[r][c] +=
                lines.lane[r] * others.lane[c];
        }
        BARRIER();
    }
    UNROLL for (int r = 0; r < 4; r++) UNROLL for (int c = 0; c < 4; c++)
        floats[share * SUMS + (own_row + r) * BLOCK_N + own_column + c] = sums[r][c];
    BARRIER();
    for (int at = (int)LOCAL_ID(0); at < SUMS; at += ITEMS) {
        const int own = row + at / BLOCK_N, other = column + at % BLOCK_N;
        float sum = floats[at];
        UNROLL for (int i = 1; i < SHARES; i++) sum += floats[i * SUMS + at];
        if (own < rows && other < columns)
            EPILOGUE_STORE(TYPE, result, (i64)own * columns + other, sum,
                           other / channel_step % channels);
    }
}
