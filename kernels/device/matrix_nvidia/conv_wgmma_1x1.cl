/*
 * 1x1 convolutions on Hopper's matrix units (wgmma.h) with positions innermost; matrix_planes.h defines rows,
 * columns and terms.
 *
 * Four warps together compute 64 by BLOCK_N sums. STAGES blocks of terms are in local memory: one is being
 * multiplied, the multiplication of the block before may still be running, and the others are arriving. In F and B a
 * workgroup takes every starts-th block of columns, and loads the next one's terms while it stores.
 *
 * Options: those of matrix_planes.h; STAGES; RESIDENT: the filter's rows of the block stay in local memory.
 */
#include "dialect.h"
#include "matrix_planes.h"
#include "wgmma.h"

/* Layout of local memory: results before they are stored, the resident rows of the filter, then the stages. */
#define STAGING_BYTES (SPLIT ? 0 : WARPS * STAGED_BYTES)
#if RESIDENT
#define FILTER_BYTES (STEPS * A_BYTES)
#else
#define FILTER_BYTES 0
#endif
#define STAGE_BYTES ((RESIDENT ? 0 : A_BYTES) + B_BYTES)

/* image_count: images of the batch. W: the terms are divided into `parts` parts, whose sums are stored part_elements
 * apart. */
KERNEL(ITEMS, 1, 1)
conv_wgmma_1x1(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
               GLOBAL RESULT *RESTRICT result, int image_count, int starts, int parts,
               i64 part_elements EPILOGUE_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    /* The mask changes nothing: it tells the compiler the range of the number. */
    const int item = (int)LOCAL_ID(0) & (ITEMS - 1), lane = item % 32, warp = item / 32;
    const int end = image_count * PLANE, id = (int)GROUP_ID(0), layer = (int)GROUP_ID(2);
    const int row_blocks = (ROWS + BLOCK_M - 1) / BLOCK_M;
    const int row = id % row_blocks * BLOCK_M, group = layer % GROUPS;
    int column = id / row_blocks * BLOCK_N, slot = 0, free_slot = STAGES - 2, left;
    LANE sums[TILES_N][4];
    struct feed feed;
    OPEN_LOCAL_MEMORY;
    const unsigned filter = local_place(local_memory) + STAGING_BYTES;
    const unsigned stages = filter + FILTER_BYTES;
#if defined(DIRECTION_W)
    const int part = layer / GROUPS, all = (end + BLOCK_K - 1) / BLOCK_K;
    const int steps = (all - part + parts - 1) / parts;
    const int columns = SIZE_C;
    left = steps;
    open_feed(&feed, a, b, group, row, column, part, parts, end, item);
#define LOAD_STEP(number)                                                                          \
    do {                                                                                           \
        load_step(local_memory, stages + (unsigned)(number)*STAGE_BYTES, &feed, item);             \
        left--;                                                                                    \
    } while (0)
#else
    const int steps = STEPS, columns = end;
    int next = column;
    left = ((columns + BLOCK_N - 1) / BLOCK_N - id / row_blocks + starts - 1) / starts * STEPS;
    open_rows(&feed, a, group, row, item);
    open_columns(&feed, b, group, column, end, item);
    (void)parts;
#define LOAD_STEP(number)                                                                          \
    do {                                                                                           \
        unsigned to = stages + (unsigned)(number)*STAGE_BYTES;                                     \
        if (!RESIDENT)                                                                             \
            load_a(local_memory, to, &feed, feed.step, item);                                      \
        load_b(local_memory, to + STAGE_BYTES - B_BYTES, &feed, feed.step, item);                  \
        left--;                                                                                    \
        if (++feed.step == STEPS) {                                                                \
            feed.step = 0;                                                                         \
            next += starts * BLOCK_N;                                                              \
            open_columns(&feed, b, group, next, end, item);                                        \
        }                                                                                          \
    } while (0)
#endif
#if RESIDENT
#pragma unroll 1
    for (int step = 0; step < STEPS; step++)
        load_a(local_memory, filter + (unsigned)step * A_BYTES, &feed, step, item);
#endif
    UNROLL for (int stage = 0; stage < STAGES - 2; stage++)
    {
        if (left > 0)
            LOAD_STEP(stage);
        end_stage();
    }
    for (; column < columns; column += starts * BLOCK_N) {
        UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int e = 0; e < 4; e++) sums[j][e] = 0;
        for (int step = 0; step < steps; step++) {
            unsigned tile = stages + (unsigned)slot * STAGE_BYTES;
            unsigned rows = RESIDENT ? filter + (unsigned)step * A_BYTES : tile;
            u64 a_operand = operand_at(rows + warp / 4 * PANEL_BYTES, A_BY_TERM);
            u64 b_operand = operand_at(tile + STAGE_BYTES - B_BYTES, B_BY_TERM);
            AWAIT_STAGES(STAGES - 3);
            show_copies();
            AWAIT_PRODUCTS(1);
            BARRIER();
            begin_products();
            UNROLL for (int term = 0; term < BLOCK_K / 16; term++)
                multiply_group(local_memory, sums, a_operand + (term * A_TERMS_STEP >> 4),
                               b_operand + (term * B_TERMS_STEP >> 4), item);
            end_products();
            if (left > 0)
                LOAD_STEP(free_slot);
            end_stage();
            slot = slot + 1 == STAGES ? 0 : slot + 1;
            free_slot = free_slot + 1 == STAGES ? 0 : free_slot + 1;
        }
        AWAIT_PRODUCTS(0);
        settle(sums);
#if SPLIT
        store_part(result + part * part_elements + (i64)group * SIZE_K * SIZE_C, sums, row, column,
                   warp, lane);
#elif defined(DIRECTION_W)
        store_block(result + (i64)group * SIZE_K * SIZE_C, local_memory, sums, group, row, column,
                    columns, warp, lane);
#else
        store_block(result + (i64)group * ROWS * RESULT_PITCH, local_memory, sums, group, row,
                    column, columns, warp, lane EPILOGUE_ARGUMENTS);
#endif
    }
    (void)part_elements;
}
