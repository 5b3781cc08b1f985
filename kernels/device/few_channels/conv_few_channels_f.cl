/*
 * Forward (F) 2D convolutions with few input channels on NVIDIA's matrix units (mma.sync): y[n][oh][ow][k] = the sum
 * over the filter of x times w, packed tensors, all NHWC or all NCHW, FP16 or BF16.
 *
 * A position reads consecutive elements of a row of x: the filter's columns, in NHWC with their channels. These
 * are the terms, so that no channels have to be padded. A part of x is copied to local memory unchanged, in
 * chunks of 16 bytes (cp.async). A lane's pair of neighbouring terms is one word of it wherever the position
 * begins, since positions are an even number of elements apart. LEAD elements of a row's first chunk precede
 * the filter's first term; where LEAD is odd a pair begins one element earlier. Pairs of a filter row are
 * padded to fours; padding counts as zero in both operands.
 *
 * A warp computes TILES_M rows of 16 positions by COLUMNS of k. In NHWC the product's rows are positions and
 * its columns k, in NCHW the reverse, so that a lane's sums are neighbours in y. A workgroup has WARPS_H by
 * WARPS_W warps and keeps its filters in local memory in the order in which lanes read them. It takes every
 * groups-th tile and loads the next one meanwhile.
 *
 * Options: TYPE (FP16 or BF16), LANE, NHWC, C, FIL_H, FIL_W, STRIDE_H, STRIDE_W, DILATION_H, LEAD; TILES_M,
 * WARPS_H, WARPS_W, COLUMNS (a multiple of 32); those of an epilogue (epilogue.h).
 */
#include "dialect.h"
#include "epilogue.h"

#define ITEMS (32 * WARPS_W * WARPS_H)
#define NEAR  0

#include "matrix_nvidia.h"

#define BLOCK_H (TILES_M * WARPS_H)
#define BLOCK_W (16 * WARPS_W)

/* Elements of x from column to column; planes of channels (NHWC has one, NCHW one for each channel). */
#define STEP   (NHWC ? C : 1)
#define PLANES (NHWC ? 1 : C)

/* Terms of a filter row, counted in pairs; then in groups of eight terms, of which a matrix instruction takes two. */
#define TERMS      (FIL_W * STEP)
#define EARLY      (LEAD % 2)
#define PAIRS      ((TERMS + EARLY + 1) / 2)
#define PAIR_PITCH ((PAIRS + 3) / 4 * 4)
#define LINES      (FIL_H * PLANES)
#define STEPS      ((LINES * PAIR_PITCH / 4 + 1) / 2)

/* Sizes of the part of x that a tile reads: rows of each plane. */
#define PART_H        ((BLOCK_H - 1) * STRIDE_H + (FIL_H - 1) * DILATION_H + 1)
#define PART_WIDTH    (LEAD - EARLY + (BLOCK_W - 1) * STRIDE_W * STEP + 2 * PAIR_PITCH)
#define PART_CHUNKS   ((PART_WIDTH + 7) / 8)
#define LINE_BYTES    (PART_CHUNKS * CHUNK_BYTES)
#define PART_BYTES    (PLANES * PART_H * LINE_BYTES)
/* Bytes in local memory from the elements of one position to those of the next. */
#define PLACE_BYTES   (STRIDE_W * STEP * 2)
/* Bytes of the filters in local memory for one step of terms: four words of each lane for every 16 output channels.
 * */
#define STEP_BYTES    (COLUMNS / 16 * 32 * 16)
#define FILTERS_BYTES (STEPS * STEP_BYTES)

/* Tiles of sums. */
#if NHWC
#define TILES_DOWN   TILES_M
#define TILES_ACROSS (COLUMNS / 8)
#else
#define TILES_DOWN   (COLUMNS / 16)
#define TILES_ACROSS (TILES_M * 2)
#endif

#if !defined(MATRIX_EMULATED)
#define LOCAL_WORD(memory, at) (*(unsigned *)((memory) + (at)))
#endif

struct ALIGNED(16) words {
    unsigned word[4];
};

struct ALIGNED(8) two_words {
    unsigned word[2];
};

struct image {
    int k, in_h, in_w, out_h, out_w, pad_h, pad_w, tiles_h, tiles_w;
};

struct tile {
    int n, oh, ow;
};

DEVICE struct tile find_tile(const struct image *image, int number)
{
    struct tile tile;
    tile.ow = number % image->tiles_w * BLOCK_W;
    tile.oh = number / image->tiles_w % image->tiles_h * BLOCK_H;
    tile.n = number / image->tiles_w / image->tiles_h;
    return tile;
}

/* Starts to copy (asynchronously) the part of x that a tile reads to offset `place` of local memory, with zeros
 * outside of x. Rows of x are whole chunks of 16 bytes. */
DEVICE void load_part(LOCAL_POINTER unsigned char *memory, unsigned place,
                      GLOBAL const half_bits *x, const struct image *image, int number, int item)
{
    const struct tile tile = find_tile(image, number);
    const int first_h = tile.oh * STRIDE_H - image->pad_h, width = image->in_w * STEP;
    const int first = (tile.ow * STRIDE_W - image->pad_w) * STEP - LEAD;
    x += (i64)tile.n * image->in_h * image->in_w * C;
    UNROLL for (int begin = 0; begin < PLANES * PART_H * PART_CHUNKS; begin += ITEMS)
    {
        int at = begin + item, line = at / PART_CHUNKS, chunk = at % PART_CHUNKS;
        int ih = first_h + line % PART_H, element = first + chunk * 8;
        int there = ih >= 0 && ih < image->in_h && element >= 0 && element < width;
        if (line < PLANES * PART_H)
            load_chunk(memory, place + at * CHUNK_BYTES,
                       x + (there ? (line / PART_H * image->in_h + ih) * width + element : 0),
                       there);
    }
}

/* ---- filters ---- */

/* Two neighbouring terms of output channel k's filter in one word; zeros past the filter. */
DEVICE unsigned filter_pair(GLOBAL const half_bits *w, const struct image *image, int k, int eight,
                            int pair_of_four)
{
    int line = eight * 4 / PAIR_PITCH;
    int term = (eight * 4 % PAIR_PITCH + pair_of_four) * 2 - EARLY;
    GLOBAL const half_bits *from =
        w + (((i64)k * PLANES + line % PLANES) * FIL_H + line / PLANES) * TERMS + term;
    unsigned pair = 0;
    if (k < image->k && line < LINES) {
        if (term >= 0 && term < TERMS)
            pair = from[0];
        if (term + 1 < TERMS)
            pair |= (unsigned)from[1] << 16;
    }
    return pair;
}

/* Writes the filters to local memory in the order in which lanes load them: four words of each lane, which are two
 * operands b of 8 columns (k ordered so that a lane has eight neighbouring sums), or one operand a of 16 rows. */
DEVICE void lay_filters(LOCAL_POINTER unsigned char *to, GLOBAL const half_bits *w,
                        const struct image *image, int first_k, int item)
{
#pragma unroll 4
    for (int at = item; at < FILTERS_BYTES / 4; at += ITEMS) {
        int word = at % 4, lane = at / 4 % 32, block = at / 128 % (COLUMNS / 16);
        int step = at / (STEP_BYTES / 4), tile = block * 2 + word / 2;
        int k = NHWC ? tile / 4 * 32 + lane / 8 * 8 + tile % 4 * 2 + lane / 4 % 2
                     : block * 16 + lane / 4 + word % 2 * 8;
        int eight = step * 2 + (NHWC ? word % 2 : word / 2);
        LOCAL_WORD(to, at * 4) = filter_pair(w, image, first_k + k, eight, lane % 4);
    }
}

DEVICE void load_filters(LOCAL_POINTER unsigned char *from, unsigned *to)
{
#if defined(MATRIX_EMULATED)
    for (int e = 0; e < 4; e++)
        to[e] = LOCAL_WORD(from, e * 4);
#else
    const struct words words = *(const struct words *)from;
    UNROLL for (int e = 0; e < 4; e++) to[e] = words.word[e];
#endif
}

/* ---- the product ---- */

/* A mask of the halves of a word that are terms of the filter; `pair` is the pair's number in its filter row. */
DEVICE unsigned terms_of_pair(int pair)
{
    int term = pair * 2 - EARLY;
    return (term >= 0 && term < TERMS ? 0xffffu : 0u) | (term + 1 < TERMS ? 0xffff0000u : 0u);
}

/* Masks for the lane's pair among the first and the last four pairs of a filter row, because these may hold elements
 * that are no terms. load_pair() reads the pair of the given group of eight terms; `part` points to the pair's place
 * for the lane's position. */
struct masks {
    unsigned first, last;
};

DEVICE unsigned load_pair(LOCAL_POINTER unsigned char *part, int eight, struct masks masks)
{
    const int line = eight * 4 / PAIR_PITCH, pair = eight * 4 % PAIR_PITCH;
    const int at = (line % PLANES * PART_H + line / PLANES * DILATION_H) * LINE_BYTES + pair * 4;
    unsigned mask = 0xffffffffu;
    if (line >= LINES)
        return 0;
    if (pair == 0)
        mask &= masks.first;
    if (pair + 4 == PAIR_PITCH)
        mask &= masks.last;
    return LOCAL_WORD(part, at) & mask;
}

DEVICE void multiply_part(LOCAL_POINTER unsigned char *memory,
                          LANE sums[TILES_DOWN][TILES_ACROSS][4], LOCAL_POINTER unsigned char *part,
                          LOCAL_POINTER unsigned char *filters, struct masks masks, int item)
{
    UNROLL for (int step = 0; step < STEPS; step++)
    {
        unsigned places[TILES_M][4];
        UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int e = 0; e < 4; e++)
        {
            /* NHWC: rows are positions, so the load fills operand a. NCHW: columns are positions, so it fills two
             * operands b, whose positions alternate. */
            const int at = i * (STRIDE_H * LINE_BYTES) +
                           (NHWC ? e % 2 * (8 * PLACE_BYTES) : e / 2 * (2 * PLACE_BYTES));
            places[i][e] = load_pair(part + at, step * 2 + (NHWC ? e / 2 : e % 2), masks);
        }
        UNROLL for (int block = 0; block < COLUMNS / 16; block++)
        {
            unsigned columns[4];
            load_filters(filters + step * STEP_BYTES + block * 512, columns);
            UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int e = 0; e < 2; e++)
            {
#if NHWC
                multiply(memory, sums[i][block * 2 + e], places[i], &columns[e * 2], item);
#else
                multiply(memory, sums[block][i * 2 + e], columns, &places[i][e * 2], item);
#endif
            }
        }
    }
}

/* ---- out ---- */

/* The value that is stored for a sum: the sum itself, or the epilogue's result if y has the element. `at`: the
 * element's place in its image. */
#ifdef EPILOGUE
DEVICE float finished(float sum, int there, int channel, i64 at EPILOGUE_PARAMETERS)
{
    return there ? epilogue_value(sum, channel, at EPILOGUE_ARGUMENTS) : 0;
}
#define FINISHED(sum, channel, at) finished(sum, there, channel, first + (at)EPILOGUE_ARGUMENTS)
#else
#define FINISHED(sum, channel, at) (sum)
#endif

#if NHWC

/* NHWC. A lane stores, for every 32 output channels, eight neighbouring channels of two positions. The image begins at
 * element `first` of y. */
DEVICE void store_sums(GLOBAL half_bits *y, i64 first, LANE sums[TILES_DOWN][TILES_ACROSS][4],
                       const struct image *image, int oh, int ow, int k,
                       int lane EPILOGUE_PARAMETERS)
{
    ow += lane / 4;
    k += lane % 4 * 8;
    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int e = 0; e < 2; e++)
        UNROLL for (int j = 0; j < TILES_ACROSS; j += 4)
    {
        const int there =
            oh + i < image->out_h && ow + e * 8 < image->out_w && k + j * 8 < image->k;
        const int at = ((oh + i) * image->out_w + ow + e * 8) * image->k + k + j * 8;
        struct words words;
        UNROLL for (int q = 0; q < 4; q++) words.word[q] =
            pair_of(FINISHED(sums[i][j + q][e * 2], k + j * 8 + q * 2, at + q * 2),
                    FINISHED(sums[i][j + q][e * 2 + 1], k + j * 8 + q * 2 + 1, at + q * 2 + 1));
        if (there)
            *(GLOBAL struct words *)(GLOBAL void *)(y + first + at) = words;
    }
}

#else

/* NCHW. A lane stores, for every 16 output channels, four neighbouring positions of two channels. The image begins at
 * element `first` of y. */
DEVICE void store_sums(GLOBAL half_bits *y, i64 first, LANE sums[TILES_DOWN][TILES_ACROSS][4],
                       const struct image *image, int oh, int ow, int k,
                       int lane EPILOGUE_PARAMETERS)
{
    ow += lane % 4 * 4;
    k += lane / 4;
    UNROLL for (int block = 0; block < TILES_DOWN; block++) UNROLL for (int i = 0; i < TILES_M; i++)
        UNROLL for (int e = 0; e < 2; e++)
    {
        const int row = k + block * 16 + e * 8;
        const int there = oh + i < image->out_h && ow < image->out_w && row < image->k;
        const int at = (row * image->out_h + oh + i) * image->out_w + ow;
        struct two_words words;
        UNROLL for (int q = 0; q < 2; q++) words.word[q] =
            pair_of(FINISHED(sums[block][i * 2 + q][e * 2], row, at + q * 2),
                    FINISHED(sums[block][i * 2 + q][e * 2 + 1], row, at + q * 2 + 1));
        if (there)
            *(GLOBAL struct two_words *)(GLOBAL void *)(y + first + at) = words;
    }
}

#endif

KERNEL(ITEMS, 1, 1)
conv_few_channels_f(GLOBAL const half_bits *RESTRICT x, GLOBAL const half_bits *RESTRICT w,
                    GLOBAL half_bits *RESTRICT y, int k, int in_h, int in_w, int out_h, int out_w,
                    int pad_h, int pad_w, int tiles_h, int tiles_w, int tiles, int groups,
                    int column_blocks EPILOGUE_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const struct image sizes = {k, in_h, in_w, out_h, out_w, pad_h, pad_w, tiles_h, tiles_w};
    const struct image *image = &sizes;
    const int item = (int)LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int warp_h = warp / WARPS_W, warp_w = warp % WARPS_W;
    const int first_k = (int)GROUP_ID(0) % column_blocks * COLUMNS;
    const struct masks masks = {terms_of_pair(lane % 4), terms_of_pair(PAIR_PITCH - 4 + lane % 4)};
    LANE sums[TILES_DOWN][TILES_ACROSS][4];
    OPEN_LOCAL_MEMORY;
    const unsigned parts = local_place(local_memory);
    const int place = warp_w * 16 + (NHWC ? lane / 4 : lane / 8 * 4 + lane / 4 % 2);
    const int own = warp_h * TILES_M * (STRIDE_H * LINE_BYTES) + place * PLACE_BYTES +
                    (LEAD - EARLY) * 2 + lane % 4 * 4;
    int number = (int)GROUP_ID(0) / column_blocks;

    load_part(local_memory, parts, x, image, number, item);
    end_stage();
    lay_filters(local_memory + 2 * PART_BYTES, w, image, first_k, item);
    for (int turn = 0; number < tiles; number += groups, turn ^= 1) {
        const struct tile tile = find_tile(image, number);
        if (number + groups < tiles)
            load_part(local_memory, parts + (turn ^ 1) * PART_BYTES, x, image, number + groups,
                      item);
        end_stage();
        AWAIT_STAGES(1);
        BARRIER();
        UNROLL for (int i = 0; i < TILES_DOWN; i++) UNROLL for (int j = 0; j < TILES_ACROSS; j++)
            UNROLL for (int e = 0; e < 4; e++) sums[i][j][e] = 0;
        multiply_part(local_memory, sums, local_memory + turn * PART_BYTES + own,
                      local_memory + 2 * PART_BYTES + lane * 16, masks, item);
        store_sums(y, (i64)tile.n * out_h * out_w * k, sums, image, tile.oh + warp_h * TILES_M,
                   tile.ow + warp_w * 16, first_k, lane EPILOGUE_ARGUMENTS);
        BARRIER();
    }
    AWAIT_STAGES(0);
}
