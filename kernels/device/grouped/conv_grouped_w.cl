/*
 * Backward weights (W) of convolutions with few channels in a group on NVIDIA's matrix units (mma.sync); grouped.h
 * describes tiles.
 *
 * A workgroup sums over every parts-th tile. While it computes one tile, the next one's patch of x and
 * positions of y are copied into local memory (cp.async). Products have 16 rows (two chunks of a filter row's
 * columns and channels) by 8 columns (k) by 16 terms (positions of a row). A warp has the sums of all filter
 * positions by its k of 16 of the tile's columns in registers; each row of x is read once and meets all of the
 * filter's rows. At the end the sums of neighbouring warps are added in local memory.
 *
 * Options: those of grouped.h with DIRECTION_W; SPLIT: each workgroup stores its sums as a split-K part in the
 * workspace, for conv_matrix_sum.cl to add up.
 */
#include "grouped.h"

#define OUT_CHUNKS    (GROUPS * GROUP_K / 8)
#define OUT_PLACE     ((OUT_CHUNKS | 1) * CHUNK_BYTES)
#define OUT_BYTES     (TILE_H * TILE_W * OUT_PLACE)
#define OUT_LOADS     ((TILE_W * OUT_CHUNKS + ITEMS - 1) / ITEMS)
#define STAGE_BYTES   (PATCH_BYTES + OUT_BYTES)
#define FILTER_LINE   (FIL_H * FIL_W * GROUP_C)
#define PART_ELEMENTS ((i64)ALL_GROUPS * GROUP_K * FILTER_LINE)
#if SPLIT
#define RESULT         LANE
#define AS_STORED(sum) (sum)
#else
#define RESULT         half_bits
#define AS_STORED(sum) DIALECT_JOIN(to_, TYPE)(sum)
#endif

/* ---- what is loaded ---- */

DEVICE void load_outputs(LOCAL_POINTER unsigned char *memory, unsigned to,
                         GLOBAL const half_bits *y, const struct tile *tile, int images, int item)
{
    UNROLL for (int i = 0; i < OUT_LOADS; i++)
    {
        const int number = i * ITEMS + item, chunk = number % OUT_CHUNKS;
        struct place place = place_of(tile->first + number / OUT_CHUNKS);
        i64 at = ((i64)place.image * OUT_H * OUT_W + place.w) * (ALL_GROUPS * GROUP_K) +
                 (tile->bundle * OUT_CHUNKS + chunk) * 8;
        if (number < TILE_W * OUT_CHUNKS) {
#pragma unroll 4
            for (int row = 0; row < TILE_H; row++) {
                int h = tile->row + row, there = place.image < images && h < OUT_H;
                i64 line = (i64)h * ((i64)OUT_W * (ALL_GROUPS * GROUP_K));
                load_chunk(memory,
                           to + (row * TILE_W + number / OUT_CHUNKS) * OUT_PLACE +
                               chunk * CHUNK_BYTES,
                           y + (there ? at + line : 0), there);
            }
        }
    }
}

DEVICE void load_tile(LOCAL_POINTER unsigned char *memory, unsigned to, GLOBAL const half_bits *x,
                      GLOBAL const half_bits *y, const struct tile *tile, int images, int item)
{
    struct columns columns;
    find_columns(&columns, tile, images, item);
    load_patch(memory, to, x, &columns, tile, 0, PATCH_H, item);
    load_outputs(memory, to + PATCH_BYTES, y, tile, images, item);
}

/* Loads operand a: one step of a filter row's columns and channels by 16 positions. */
DEVICE void load_rows(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned place,
                      const struct taps *taps, int h, int group, int step, int item)
{
    const int first = source_at(taps, 2 * step), chunks = chunks_of(taps, step);
    const int gap = source_at(taps, second_of(taps, step)) - first;
    const unsigned at =
        place + h * ROW_BYTES + group * (GROUP_C * 2) + first + (item >> 4 & 1) * gap;
    unsigned matrices[4] = {0, 0, 0, 0};
    IF_COMPILED(chunks > 1)
    load_matrices(memory, matrices, at, 1, item);
    IF_COMPILED(chunks == 1)
    load_two_matrices(memory, matrices, at, 1, item);
    to[0] = matrices[0];
    to[1] = matrices[2];
    to[2] = matrices[1];
    to[3] = matrices[3];
}

/* Loads operand b: 16 positions of a row of y by the warp's output channels. */
DEVICE void load_columns(LOCAL_POINTER unsigned char *memory, unsigned to[WARP_TILES][2],
                         unsigned place, int row, int item)
{
    const unsigned at = place + row * (TILE_W * OUT_PLACE);
#if WARP_TILES % 2 == 0
    UNROLL for (int tile = 0; tile < WARP_TILES; tile += 2)
    {
        unsigned pair[4];
        load_matrices(memory, pair, at + (tile + (item >> 4 & 1)) * CHUNK_BYTES, 1, item);
        UNROLL for (int i = 0; i < 4; i++) to[tile + i / 2][i % 2] = pair[i];
    }
#else
    UNROLL for (int tile = 0; tile < WARP_TILES; tile++)
        load_two_matrices(memory, to[tile], at + tile * CHUNK_BYTES, 1, item);
#endif
}

/* ---- the product ---- */

struct work {
    struct warp warp;
    struct taps taps;
    /* local-memory offsets of the lane's position within a stage: of x, and of y */
    unsigned place, out;
};

/* The row of y's positions that filter row r combines with row h of the patch of x; negative if it combines h with no
 * row. */
DEVICE int row_met(int h, int r)
{
    int d = h - SHIFT_H(r);
    return d >= 0 && d % STEP_H == 0 && d / STEP_H < TILE_H ? d / STEP_H : -1;
}

DEVICE void multiply_tile(LOCAL_POINTER unsigned char *memory, const struct work *work,
                          unsigned stage, LANE sums[FIL_H + 1][STEPS_MOST][WARP_TILES][4])
{
    const int item = work->warp.item;
    unsigned columns[TILE_H][WARP_TILES][2];
    UNROLL for (int h = 0; h < PATCH_H; h++)
    {
        const int begins = row_met(h, 0);
        IF_COMPILED(begins >= 0)
        load_columns(memory, columns[begins >= 0 ? begins : 0], work->out + stage,
                     begins >= 0 ? begins : 0, item);
        UNROLL for (int group = 0; group < WARP_GROUPS; group++)
            UNROLL for (int step = 0; step < STEPS_MOST; step++)
        {
            unsigned rows[4];
            load_rows(memory, rows, work->place + stage, &work->taps, h, group, step, item);
            UNROLL for (int r = 0; r < FIL_H; r++) UNROLL for (int i = 0; i < GROUP_TILES; i++)
            {
                const int row = row_met(h, r), tile = group * GROUP_TILES + i;
                IF_COMPILED(row >= 0)
                multiply(memory, sums[row >= 0 ? r : FIL_H][step][tile], rows,
                         columns[row >= 0 ? row : 0][tile], item);
            }
        }
    }
}

/* ---- the sums ---- */

#define SUMS (FIL_H * STEPS_MOST * WARP_TILES * 4)

/* Warps that computed the same channels at different positions add up their sums; the first of them gets the totals.
 * */
DEVICE void add_warps(LOCAL_POINTER unsigned char *memory, const struct warp *warp,
                      LANE sums[FIL_H + 1][STEPS_MOST][WARP_TILES][4])
{
    LOCAL_POINTER LANE *shared =
        (LOCAL_POINTER LANE *)(LOCAL_POINTER void *)memory + warp->n * SUMS * 32 + warp->lane;
    ROLLED for (int m = 1; m < WARPS_M; m++)
    {
        BARRIER();
        if (warp->m == m) {
            UNROLL for (int i = 0; i < SUMS; i++) shared[i * 32] =
                sums[i / (4 * WARP_TILES * STEPS_MOST)][i / (4 * WARP_TILES) % STEPS_MOST]
                    [i / 4 % WARP_TILES][i % 4];
        }
        BARRIER();
        if (warp->m == 0) {
            UNROLL for (int i = 0; i < SUMS; i++)
                sums[i / (4 * WARP_TILES * STEPS_MOST)][i / (4 * WARP_TILES) % STEPS_MOST]
                    [i / 4 % WARP_TILES][i % 4] += shared[i * 32];
        }
    }
}

/* Stores a lane's sums: input channel lane / 4 of each chunk of a step, for the pair lane % 4 of each tile's output
 * channels. */
DEVICE void store_sums(GLOBAL RESULT *result, const struct work *work, int bundle,
                       LANE sums[FIL_H + 1][STEPS_MOST][WARP_TILES][4])
{
    const int lane = work->warp.lane;
    const int k = (bundle * GROUPS * GROUP_K + work->warp.n * WARP_TILES * 8) + lane % 4 * 2;
    result += (i64)k * FILTER_LINE + lane / 4;
    UNROLL for (int r = 0; r < FIL_H; r++) UNROLL for (int step = 0; step < STEPS_MOST; step++)
        UNROLL for (int tile = 0; tile < WARP_TILES; tile++) UNROLL for (int e = 0; e < 4; e++)
    {
        const int chunk = 2 * step + e / 2;
        if (chunk < work->taps.chunks)
            result[(tile * 8 + e % 2) * FILTER_LINE +
                   (r * FIL_W + column_of(&work->taps, chunk)) * GROUP_C +
                   chunk % SOURCE_CHUNKS * 8] = AS_STORED(sums[r][step][tile][e]);
    }
}

KERNEL(ITEMS, 1, 1)
conv_grouped_w(GLOBAL const half_bits *RESTRICT x, GLOBAL const half_bits *RESTRICT y,
               GLOBAL RESULT *RESTRICT result, int images, int tiles,
               int parts LOCAL_MEMORY_PARAMETER)
{
    /* FIL_H is an extra row: products that belong to no filter row are added there and never stored. */
    LANE sums[FIL_H + 1][STEPS_MOST][WARP_TILES][4];
    const int item = (int)LOCAL_ID(0), bundle = (int)GROUP_ID(0) % BUNDLES;
    const int part = (int)GROUP_ID(0) / BUNDLES;
    struct work work;
    int stage = 0;
    OPEN_LOCAL_MEMORY;
    const unsigned first = local_place(local_memory);
    struct tile tile = tile_of(part * BUNDLES + bundle);
    work.warp = find_warp(item);
    work.taps = find_taps(0);
    work.out = first + PATCH_BYTES + (work.warp.m * 16 + (item & 15)) * OUT_PLACE +
               work.warp.n * WARP_TILES * CHUNK_BYTES;
    UNROLL for (int r = 0; r <= FIL_H; r++) UNROLL for (int step = 0; step < STEPS_MOST; step++)
        UNROLL for (int i = 0; i < WARP_TILES * 4; i++) sums[r][step][i / 4][i % 4] = 0;

    if (part < tiles)
        load_tile(local_memory, first, x, y, &tile, images, item);
    end_stage();
    for (int number = part; number < tiles; number += parts) {
        const int column = tile.first + work.warp.m * 16 + (item & 15);
        work.place =
            first + COLUMN_AT(line_of(column) - tile.line) + work.warp.group * (GROUP_C * 2);
        tile = tile_of((number + parts) * BUNDLES + bundle);
        if (number + parts < tiles)
            load_tile(local_memory, first + (STAGE_BYTES - stage), x, y, &tile, images, item);
        end_stage();
        AWAIT_STAGES(1);
        BARRIER();
        multiply_tile(local_memory, &work, stage, sums);
        BARRIER();
        stage = STAGE_BYTES - stage;
    }
    AWAIT_STAGES(0);
    add_warps(local_memory, &work.warp, sums);
    if (work.warp.m == 0)
        store_sums(result + (SPLIT ? part * PART_ELEMENTS : 0), &work, bundle, sums);
}
