/*
 * Convolutions as matrix products on Hopper's matrix units (wgmma.h); matrix_nhwc.h defines rows, columns and
 * terms.
 *
 * Four warps together compute 64 by BLOCK_N sums. STAGES blocks of terms are in local memory: one is being
 * multiplied, the multiplication of the block before may still be running, and the others are arriving. Sums of FP8 and
 * BF8 keep fewer bits than FP32 (multiply() of matrix_nvidia.h), so each block of 128 terms begins at zero, and its sums are
 * added in FP32.
 *
 * Options: DIRECTION_*, TYPE (FP16, BF16; in F INT8, or FP8 and BF8 with TYPE_B and TYPE_Y; in F and B TF32), LANE,
 * TURNED, BLOCK_M (64 for each group of four warps), BLOCK_N (64, 128, 192 or 256), STAGES, NEAR (elements that filter
 * positions share stay in the unit's cache), SPLIT.
 */
#include "dialect.h"
#include "float8.h"

#define BLOCK_K 64
#define ITEMS   (BLOCK_M * 2)
#define WARP_M  16
#define WARP_N  BLOCK_N
#define TILES_M 1
#define TILES_N (BLOCK_N / 8)

#include "matrix_nhwc.h"
#include "matrix_work.h"
#include "wgmma.h"

KERNEL(ITEMS, 1, 1)
conv_wgmma(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
           GLOBAL RESULT *RESTRICT result, SIZE_PARAMETERS, int column_blocks, int splits,
           i64 part_elements FINISH_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const struct sizes sizes = SIZES;
    const struct sizes *s = &sizes;
    struct work work = find_work(s, column_blocks);
    LANE sums[1][TILES_N][4];
#if BYTE_FLOATS
    LANE block_sums[TILES_N][4];
#endif
    const int item = (int)LOCAL_ID(0), lane = item % 32, warp_m = item / 32, warp_n = 0;
    OPEN_LOCAL_MEMORY;
    const unsigned tiles = local_place(local_memory) + PLACES_BYTES;
    OPEN_WORK

    UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int e = 0; e < 4; e++) sums[0][j][e] = 0;

    PREPARE(0);
    UNROLL for (int stage = 0; stage < STAGES - 2; stage++)
    {
        BARRIER_TO_LOAD();
        if (stage < work.steps)
            LOAD_BLOCK(stage, stage);
        end_stage();
        PREPARE(stage + 1);
    }
    for (int at = 0; at < work.steps; at++) {
        unsigned tile = tiles + at % STAGES * STAGE_BYTES;
        u64 a_operand = operand_at(tile + warp_m / 4 * 64 * BLOCK_K * 2, A_BY_TERM);
        u64 b_operand = operand_at(tile + A_BYTES, B_BY_TERM);
        AWAIT_STAGES(STAGES - 3);
        show_copies();
        AWAIT_PRODUCTS(1);
        BARRIER();
        begin_products();
#if BYTE_FLOATS
        begin_group(local_memory, block_sums, a_operand, b_operand, item);
        UNROLL for (int term = 1; term < BLOCK_K / 16; term++)
            multiply_group(local_memory, block_sums, a_operand + (term * A_TERMS_STEP >> 4),
                           b_operand + (term * B_TERMS_STEP >> 4), item);
#else
        UNROLL for (int term = 0; term < BLOCK_K / 16; term++)
            multiply_group(local_memory, sums[0], a_operand + (term * A_TERMS_STEP >> 4),
                           b_operand + (term * B_TERMS_STEP >> 4), item);
#endif
        end_products();
        if (at + STAGES - 2 < work.steps)
            LOAD_BLOCK((at + STAGES - 2) % STAGES, at + STAGES - 2);
        PREPARE(at + STAGES - 1);
        end_stage();
#if BYTE_FLOATS
        AWAIT_PRODUCTS(0);
        settle(block_sums);
        UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int e = 0; e < 4; e++) sums[0][j][e] +=
            block_sums[j][e];
#endif
    }
    AWAIT_PRODUCTS(0);
    settle(sums[0]);
    AWAIT_STAGES(0);
    BARRIER();
    STORE_WORK
}
