/*
 * Forward (F) and backward data (B) of convolutions with few channels in a group on NVIDIA's matrix units (mma.sync);
 * grouped.h describes tiles.
 *
 * A workgroup copies its groups' filter and a patch of the source into local memory (cp.async). Each warp
 * computes the rows of 16 columns of positions by WARP_TILES * 8 channels, by products of 16 positions by 8
 * channels by 16 terms: filter columns and channels of a group.
 *
 *   KEEP 1  the filter stays in registers and the patch passes row by row: a row that is read once serves all of the
 *           filter's rows, and rows of the result are stored as soon as they are complete
 *   KEEP 0  the sums of all rows stay in registers, and the filter is loaded from local memory row by row
 *
 * Options: those of grouped.h, KEEP.
 */
#include "grouped.h"
#include "matrix_epilogue.h"

#define STAGES        4
#define ROWS_A_STAGE  ((PATCH_H + STAGES - 1) / STAGES)
#define RESULT_ROWS   (TILE_H * PHASES_H)
/* The filter in local memory has a line for each k, in the order of memory: filter rows, columns, c. */
#define FILTER_LINES  (GROUPS * GROUP_K)
#define FILTER_CHUNKS (FIL_H * FIL_W * GROUP_C / 8)
#define FILTER_PITCH  ((FILTER_CHUNKS | 1) * CHUNK_BYTES)
#define FILTER_BYTES  (FILTER_LINES * FILTER_PITCH)
/* A warp's results pass through local memory, 16 positions of its channels at a time, to be stored in chunks of 16
 * bytes. */
#define OUT_TURNS     (WARP_TILES % 2 == 0 && 8 % WARP_TILES == 0)
#define OUT_PITCH     ((OUT_TURNS ? WARP_TILES : WARP_TILES | 1) * CHUNK_BYTES)
#define OUT_BYTES     (16 * OUT_PITCH)
#define OUT_CHUNKS    (16 * WARP_TILES)
#define OUT_STORES    ((OUT_CHUNKS + 31) / 32)
#define RESULT_LINE   ((i64)(RESULT_W) * (ALL_GROUPS * RESULT_GROUP))

/* ---- the filter ---- */

DEVICE void load_filter(LOCAL_POINTER unsigned char *memory, unsigned to, GLOBAL const half_bits *w,
                        int bundle, int item)
{
    w += (i64)bundle * (FILTER_LINES * FILTER_CHUNKS * 8);
    for (int i = item; i < FILTER_LINES * FILTER_CHUNKS; i += ITEMS) {
        int line = i / FILTER_CHUNKS, chunk = i % FILTER_CHUNKS;
        load_chunk(memory, to + line * FILTER_PITCH + chunk * CHUNK_BYTES, w + (i64)i * 8, 1);
    }
}

/* Offset in local memory of the filter element that the lane names for the warp's first tile: the line of a k; in B
 * the c within that line. */
DEVICE int filter_line(const struct warp *warp)
{
#if defined(DIRECTION_B)
    int first = warp->n * WARP_TILES * 8;
    return (warp->group * GROUP_K + (warp->lane & 7)) * FILTER_PITCH + first % GROUP_C * 2;
#else
    return (warp->n * WARP_TILES * 8 + (warp->lane & 7)) * FILTER_PITCH;
#endif
}

/* Offset from filter_line() to the same element for the warp's tile number `tile`; filter_at() gives the
 * offset from there to a chunk of a filter row's terms. */
DEVICE int filter_tile_at(int tile)
{
#if defined(DIRECTION_B)
    return GROUP_OF(tile) * GROUP_K * FILTER_PITCH + tile * 8 % GROUP_C * 2;
#else
    return tile * 8 * FILTER_PITCH;
#endif
}

DEVICE int filter_at(const struct taps *taps, int r, int chunk)
{
    int column = (r * FIL_W + column_of(taps, chunk)) * GROUP_C * 2, rest = chunk % SOURCE_CHUNKS;
#if defined(DIRECTION_B)
    return column + rest * 8 * FILTER_PITCH;
#else
    return column + rest * CHUNK_BYTES;
#endif
}

#if defined(DIRECTION_B)
#define FILTER_TURNS 1
#else
#define FILTER_TURNS 0
#endif

/* Loads operand b for all tiles of the warp: 8 result channels by one step of 16 terms of filter row r. */
DEVICE void load_step(LOCAL_POINTER unsigned char *memory, unsigned to[WARP_TILES][2],
                      unsigned line, const struct taps *taps, int r, int step, int item)
{
    const int first = filter_at(taps, r, 2 * step);
    const int gap = filter_at(taps, r, second_of(taps, step)) - first;
    const unsigned at = line + first + (item >> 3 & 1) * gap;
#if WARP_TILES % 2 == 0
    UNROLL for (int tile = 0; tile < WARP_TILES; tile += 2)
    {
        unsigned pair[4];
        int next = filter_tile_at(tile + 1) - filter_tile_at(tile);
        load_matrices(memory, pair, at + filter_tile_at(tile) + (item >> 4 & 1) * next,
                      FILTER_TURNS, item);
        UNROLL for (int i = 0; i < 4; i++) to[tile + i / 2][i % 2] = pair[i];
    }
#else
    UNROLL for (int tile = 0; tile < WARP_TILES; tile++)
        load_two_matrices(memory, to[tile], at + filter_tile_at(tile), FILTER_TURNS, item);
#endif
}

/* ---- the source ---- */

/* Loads operand a: the source under 16 positions by one step of 16 terms; `place` is the patch offset of the lane's
 * position. */
DEVICE void load_places(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned place,
                        const struct taps *taps, int row, int group, int step, int item)
{
    const int first = source_at(taps, 2 * step);
    const int gap = source_at(taps, second_of(taps, step)) - first;
    const unsigned at = place + row * ROW_BYTES + group * (SOURCE_GROUP * 2) + first;
    IF_COMPILED(chunks_of(taps, step) > 1)
    load_matrices(memory, to, at + (item >> 4 & 1) * gap, 0, item);
    IF_COMPILED(chunks_of(taps, step) == 1)
    load_two_matrices(memory, to, at + (item >> 4 & 1) * gap, 0, item);
}

/* ---- the result ---- */

/* Offsets in the result of the positions that a lane stores, for row 0; a negative offset means that the lane stores
 * no position. */
struct ends {
    i64 at[OUT_STORES];
#ifdef EPILOGUE
    /* of the lane's sums: positions of the two parts, negative for none, and the first channel */
    int position[2], channel;
#endif
};

DEVICE void find_ends(struct ends *ends, const struct tile *tile, const struct warp *warp,
                      int phase, int images)
{
    UNROLL for (int i = 0; i < OUT_STORES; i++)
    {
        int number = i * 32 + warp->lane;
        struct place place = place_of(tile->first + warp->m * 16 + number / WARP_TILES);
        int w = place.w * PHASES_W + phase;
        int channel = (tile->bundle * GROUPS * RESULT_GROUP + warp->n * WARP_TILES * 8) +
                      number % WARP_TILES * 8;
        ends->at[i] = (i64)place.image * RESULT_H * RESULT_LINE +
                      (i64)w * (ALL_GROUPS * RESULT_GROUP) + channel;
        if (number >= OUT_CHUNKS || place.image >= images || w >= RESULT_W)
            ends->at[i] = -1;
    }
#ifdef EPILOGUE
    UNROLL for (int part = 0; part < 2; part++)
    {
        struct place place = place_of(tile->first + warp->m * 16 + part * 8 + warp->lane / 4);
        int w = place.w * PHASES_W + phase;
        int is_there = place.image < images && w < RESULT_W;
        ends->position[part] = is_there ? place.image * (RESULT_H * RESULT_W) + w : -1;
    }
    ends->channel = tile->bundle * GROUPS * RESULT_GROUP + warp->n * WARP_TILES * 8 +
                    warp->lane % 4 * 2;
#endif
}

struct ALIGNED(CHUNK_BYTES) chunk {
    unsigned words[4];
};

/* Offset of a position's chunk in the buffer of results. A position's chunks are permuted by the position's number,
 * so that neither writes nor reads conflict over banks. Where the number of chunks is no power of 2, positions are an
 * odd number of chunks apart instead. */
DEVICE int out_at(int position, int chunk)
{
    int turned = OUT_TURNS ? chunk ^ (position * WARP_TILES / 8 & (WARP_TILES - 1)) : chunk;
    return position * OUT_PITCH + turned * CHUNK_BYTES;
}

/* Stores a row of a warp's sums through local memory, 16 bytes at a time. */
DEVICE void store_row(LOCAL_POINTER unsigned char *staged, GLOBAL half_bits *result,
                      LANE sums[WARP_TILES][4], const struct ends *ends, int row, int there,
                      int lane FINISH_PARAMETERS)
{
    WARP_BARRIER();
    UNROLL for (int tile = 0; tile < WARP_TILES; tile++) UNROLL for (int part = 0; part < 2; part++)
    {
        int at = out_at(part * 8 + lane / 4, tile) + lane % 4 * 4;
#ifdef EPILOGUE
        int channel = ends->channel + tile * 8;
        int is_there = there && row < RESULT_H && ends->position[part] >= 0;
        int position = is_there ? ends->position[part] + row * RESULT_W : -1;
        float pair[2];
        UNROLL for (int i = 0; i < 2; i++) pair[i] =
            finished(sums[tile][2 * part + i], position, channel / RESULT_GROUP, ALL_GROUPS,
                     channel % RESULT_GROUP + i FINISH_ARGUMENTS);
        *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)(staged + at) = pair_of(pair[0], pair[1]);
#else
        *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)(staged + at) =
            pair_of(sums[tile][2 * part], sums[tile][2 * part + 1]);
#endif
    }
    WARP_BARRIER();
    UNROLL for (int i = 0; i < OUT_STORES; i++)
    {
        int number = i * 32 + lane;
        int at = out_at(number / WARP_TILES, number % WARP_TILES);
        if (there && row < RESULT_H && ends->at[i] >= 0)
            *(GLOBAL struct chunk *)(GLOBAL void *)(result + ends->at[i] + row * RESULT_LINE) =
                *(LOCAL_POINTER const struct chunk *)(LOCAL_POINTER const void *)(staged + at);
    }
}

/* ---- the product ---- */

struct work {
    struct tile tile;
    struct warp warp;
    struct ends ends;
    /* local-memory offsets of the lane's position in the patch and of its line of the filter */
    unsigned place, line;
};

DEVICE void multiply_row(LOCAL_POINTER unsigned char *memory, LANE sums[WARP_TILES][4],
                         const unsigned *places, unsigned filter[WARP_TILES][2], int group,
                         int chunks, int item)
{
    UNROLL for (int i = 0; i < GROUP_TILES; i++)
    {
        int tile = group * GROUP_TILES + i;
        multiply_chunks(memory, sums[tile], places, filter[tile], chunks, item);
    }
}

#if KEEP

/* The row of the result to which filter row r adds when it multiplies row h of the patch; negative if it adds to no
 * row. */
DEVICE int row_met(int h, int r)
{
    int d = h - SHIFT_H(r);
    return d >= 0 && d % STEP_H == 0 && d / STEP_H < TILE_H ? d / STEP_H * PHASES_H + PHASE_H(r)
                                                            : -1;
}

/* The last row of the patch that adds to the given row of the result; afterwards this row can be stored. */
DEVICE int last_met(int row)
{
    int last = 0;
    UNROLL for (int r = 0; r < FIL_H; r++) last =
        PHASE_H(r) == row % PHASES_H && SHIFT_H(r) > last ? SHIFT_H(r) : last;
    return last + row / PHASES_H * STEP_H;
}

/* The patch is loaded in STAGES groups of rows, so that the first rows can be multiplied while the others arrive. */
#if defined(MATRIX_EMULATED)
#define AWAIT_ROW(h) BARRIER()
#else
#define AWAIT_ROW(h)                                                                               \
    do {                                                                                           \
        if ((h) % ROWS_A_STAGE == 0) {                                                             \
            switch ((h) / ROWS_A_STAGE) {                                                          \
            case 0: AWAIT_STAGES(3); break;                                                        \
            case 1: AWAIT_STAGES(2); break;                                                        \
            case 2: AWAIT_STAGES(1); break;                                                        \
            default: AWAIT_STAGES(0);                                                              \
            }                                                                                      \
            BARRIER();                                                                             \
        }                                                                                          \
    } while (0)
#endif

DEVICE void multiply_patch_row(LOCAL_POINTER unsigned char *memory, const struct work *work,
                               LANE sums[RESULT_ROWS + 1][WARP_TILES][4],
                               unsigned filter[FIL_H][STEPS_MOST][WARP_TILES][2],
                               const struct taps *taps, int h)
{
    const int item = work->warp.item;
    UNROLL for (int group = 0; group < WARP_GROUPS; group++)
        UNROLL for (int step = 0; step < STEPS_MOST; step++)
    {
        const int is_step = 2 * step < taps->chunks;
        unsigned places[4];
        IF_COMPILED(is_step)
        load_places(memory, places, work->place, taps, h, group, is_step ? step : 0, item);
        UNROLL for (int r = 0; r < FIL_H; r++)
        {
            const int row = is_step ? row_met(h, r) : -1;
            IF_COMPILED(row >= 0)
            multiply_row(memory, sums[row >= 0 ? row : RESULT_ROWS], places, filter[r][step], group,
                         chunks_of(taps, step), item);
        }
    }
}

DEVICE void compute(LOCAL_POINTER unsigned char *memory, LOCAL_POINTER unsigned char *staged,
                    GLOBAL half_bits *result, struct work *work, int images FINISH_PARAMETERS)
{
    const int item = work->warp.item;
    UNROLL for (int phase = 0; phase < PHASES_W; phase++)
    {
        /* RESULT_ROWS is an extra row: products that belong to no row of the result are added there and never stored.
         * */
        LANE sums[RESULT_ROWS + 1][WARP_TILES][4];
        unsigned filter[FIL_H][STEPS_MOST][WARP_TILES][2];
        const struct taps taps = find_taps(phase);
        find_ends(&work->ends, &work->tile, &work->warp, phase, images);
        UNROLL for (int row = 0; row <= RESULT_ROWS; row++)
            UNROLL for (int i = 0; i < WARP_TILES * 4; i++) sums[row][i / 4][i % 4] = 0;
        IF_COMPILED(phase == 0) AWAIT_ROW(0);
        UNROLL for (int r = 0; r < FIL_H; r++) UNROLL for (int step = 0; step < STEPS_MOST; step++)
        {
            const int is_step = 2 * step < taps.chunks;
            IF_COMPILED(is_step)
            load_step(memory, filter[r][step], work->line, &taps, r, is_step ? step : 0, item);
        }
        UNROLL for (int h = 0; h < PATCH_H; h++)
        {
            IF_COMPILED(phase == 0 && h > 0) AWAIT_ROW(h);
            multiply_patch_row(memory, work, sums, filter, &taps, h);
            UNROLL for (int row = 0; row < RESULT_ROWS; row++)
            {
                const int is_done = last_met(row) == h;
                IF_COMPILED(is_done)
                store_row(staged, result, sums[row], &work->ends, work->tile.row * PHASES_H + row,
                          is_done, work->warp.lane FINISH_ARGUMENTS);
            }
        }
    }
}

#else

DEVICE void multiply_filter_row(LOCAL_POINTER unsigned char *memory, const struct work *work,
                                LANE sums[TILE_H + 1][WARP_TILES][4], const struct taps *taps,
                                int r, int is_met)
{
    const int item = work->warp.item;
    UNROLL for (int step = 0; step < STEPS_MOST; step++)
    {
        const int is_step = is_met && 2 * step < taps->chunks;
        unsigned filter[WARP_TILES][2];
        IF_COMPILED(is_step)
        load_step(memory, filter, work->line, taps, r, is_step ? step : 0, item);
        UNROLL for (int group = 0; group < WARP_GROUPS; group++)
            UNROLL for (int row = 0; row < TILE_H; row++)
        {
            unsigned places[4];
            IF_COMPILED(is_step)
            {
                load_places(memory, places, work->place, taps, row * STEP_H + SHIFT_H(r), group,
                            is_step ? step : 0, item);
                multiply_row(memory, sums[is_step ? row : TILE_H], places, filter, group,
                             chunks_of(taps, step), item);
            }
        }
    }
}

DEVICE void compute(LOCAL_POINTER unsigned char *memory, LOCAL_POINTER unsigned char *staged,
                    GLOBAL half_bits *result, struct work *work, int images FINISH_PARAMETERS)
{
    AWAIT_STAGES(0);
    BARRIER();
    UNROLL for (int phase = 0; phase < PHASES_W; phase++)
    {
        const struct taps taps = find_taps(phase);
        find_ends(&work->ends, &work->tile, &work->warp, phase, images);
        UNROLL for (int phase_h = 0; phase_h < PHASES_H; phase_h++)
        {
            LANE sums[TILE_H + 1][WARP_TILES][4];
            UNROLL for (int row = 0; row <= TILE_H; row++)
                UNROLL for (int i = 0; i < WARP_TILES * 4; i++) sums[row][i / 4][i % 4] = 0;
            /* The loop is not unrolled: compilers would start more loads at once than there are registers for. */
            ROLLED for (int r = 0; r < FIL_H; r++)
            {
                const int is_met = PHASE_H(r) == phase_h;
                IF_COMPILED(is_met)
                multiply_filter_row(memory, work, sums, &taps, r, is_met);
            }
            UNROLL for (int row = 0; row < TILE_H; row++)
                store_row(staged, result, sums[row], &work->ends,
                          (work->tile.row + row) * PHASES_H + phase_h, 1, work->warp.lane FINISH_ARGUMENTS);
        }
    }
}

#endif

KERNEL(ITEMS, 1, 1)
conv_grouped(GLOBAL const half_bits *RESTRICT source, GLOBAL const half_bits *RESTRICT w,
             GLOBAL half_bits *RESTRICT result, int images FINISH_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const int item = (int)LOCAL_ID(0);
    struct work work;
    struct columns columns;
    OPEN_LOCAL_MEMORY;
    const unsigned filter = local_place(local_memory), patch = filter + FILTER_BYTES;
    work.tile = tile_of((int)GROUP_ID(0));
    work.warp = find_warp(item);
    work.line = filter + filter_line(&work.warp);
    work.place =
        patch +
        COLUMN_AT(line_of(work.tile.first + work.warp.m * 16 + (item & 15)) - work.tile.line) +
        work.warp.group * (SOURCE_GROUP * 2);

    find_columns(&columns, &work.tile, images, item);
    load_filter(local_memory, filter, w, work.tile.bundle, item);
    UNROLL for (int stage = 0; stage < STAGES; stage++)
    {
        int first = stage * ROWS_A_STAGE, left = PATCH_H - first;
        load_patch(local_memory, patch, source, &columns, &work.tile, first,
                   left < ROWS_A_STAGE ? left : ROWS_A_STAGE, item);
        end_stage();
    }
    compute(local_memory, local_memory + FILTER_BYTES + PATCH_BYTES + item / 32 * OUT_BYTES, result,
            &work, images FINISH_ARGUMENTS);
}
