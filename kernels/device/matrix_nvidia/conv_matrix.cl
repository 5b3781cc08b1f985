/*
 * Convolutions as matrix products on NVIDIA's matrix units (mma.sync); matrix_nhwc.h defines rows, columns and
 * terms.
 *
 * A workgroup computes BLOCK_M by BLOCK_N sums, and each of its warps WARP_M by WARP_N of them in registers, by
 * products of 16 by 8 by 16 (types of 8 bits: 32, TF32: 8). Blocks of BLOCK_K elements of terms of both operands are copied
 * into local memory without registers (cp.async), STAGES of them at once, with zeros outside of a tensor. An operand with
 * rows or columns innermost is transposed by the load into registers (ldmatrix, .trans). That instruction transposes 16
 * bits, so numbers of TF32 are then loaded one by one.
 *
 * Options: DIRECTION_*, TYPE (FP16, BF16, TF32; in F INT8, or FP8 and BF8 with TYPE_B and TYPE_Y, the types of w and y),
 * LANE, the sizes above, SPLIT.
 */
#include "dialect.h"
#include "float8.h"

#define WARPS_M (BLOCK_M / WARP_M)
#define WARPS_N (BLOCK_N / WARP_N)
#define ITEMS   (32 * WARPS_M * WARPS_N)
#define TILES_M (WARP_M / 16)
#define TILES_N (WARP_N / 8)
#define NEAR    0

#include "matrix_nhwc.h"
#include "matrix_work.h"

/* ---- registers ---- */

#if LONG_NUMBERS
/* In TF32 a lane has a number of each matrix of 8 by 4: of row (or column) lane / 4 and term lane % 4. Loads it from an
 * operand with rows or columns innermost; `row` is a multiple of 8, and `term` of 4. The place is that of chunk_at(), as a
 * part for the lane and a part that the compiler knows: so few places are kept in registers. The two parts permute chunks
 * by different bits. */
DEVICE unsigned number_of_lane(LOCAL_POINTER unsigned char *memory, unsigned tile, int row,
                               int term, int lines, int lane)
{
    unsigned of_lane = lane % 4 * 128 + ((lane / 16 ^ PERMUTED_BY(lane % 4)) & 7) * CHUNK_BYTES +
                       lane / 4 % 4 * 4;
    unsigned panel = (term + row / 32 * lines) * 128;
    return load_number(memory, (tile + panel + of_lane) ^
                                   ((row % 32 / 4 ^ PERMUTED_BY(term)) & 7) * CHUNK_BYTES);
}
#endif

/* Loads the four matrices of 8 by 8 "elements" that make 16 rows by 16 elements of terms, in operand a's order: rows
 * first. Each lane names a line of one of them. */
DEVICE void load_a(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned tile, int row,
                   int term, int item)
{
#if LONG_NUMBERS && A_BY_TERM
    UNROLL for (int i = 0; i < 4; i++) to[i] =
        number_of_lane(memory, tile, row + i % 2 * 8, term / WIDTH + i / 2 * 4, A_LINES, item % 32);
#else
    int lane = item % 32, line = row + (lane & 15), chunk = term / 8 + (lane >> 4);
    if (A_BY_TERM) {
        line = term + (lane >> 4) * 8 + (lane & 7);
        chunk = row / 8 + (lane >> 3 & 1);
    }
    load_matrices(memory, to, tile + chunk_at(line, chunk, A_LINES, A_CHUNKS), A_BY_TERM, item);
#endif
}

/* Loads two operands b, for 16 columns by 16 elements of terms, terms first. Each lane names a line of one of the four
 * matrices. */
DEVICE void load_b(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned tile, int column,
                   int term, int item)
{
#if LONG_NUMBERS && B_BY_TERM
    UNROLL for (int i = 0; i < 4; i++) to[i] =
        number_of_lane(memory, tile, column + i / 2 * 8, term / WIDTH + i % 2 * 4, B_LINES,
                       item % 32);
#else
    int lane = item % 32;
    int line = column + (lane >> 4) * 8 + (lane & 7), chunk = term / 8 + (lane >> 3 & 1);
    if (B_BY_TERM) {
        line = term + (lane >> 3 & 1) * 8 + (lane & 7);
        chunk = column / 8 + (lane >> 4);
    }
    load_matrices(memory, to, tile + chunk_at(line, chunk, B_LINES, B_CHUNKS), B_BY_TERM, item);
#endif
}

/* ---- the product ---- */

DEVICE void multiply_stage(LOCAL_POINTER unsigned char *memory, unsigned tile,
                           LANE sums[TILES_M][TILES_N][4], int warp_m, int warp_n, int item)
{
    UNROLL for (int term = 0; term < BLOCK_K; term += 16)
    {
        unsigned rows[TILES_M][4], columns[TILES_N / 2][4];
        UNROLL for (int i = 0; i < TILES_M; i++)
            load_a(memory, rows[i], tile, warp_m * WARP_M + i * 16, term, item);
        UNROLL for (int j = 0; j < TILES_N / 2; j++)
            load_b(memory, columns[j], tile + A_BYTES, warp_n * WARP_N + j * 16, term, item);
        UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int j = 0; j < TILES_N; j++)
            multiply(memory, sums[i][j], rows[i], &columns[j / 2][j % 2 * 2], item);
    }
}

KERNEL(ITEMS, 1, 1)
conv_matrix(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
            GLOBAL RESULT *RESTRICT result, SIZE_PARAMETERS, int column_blocks, int splits,
            i64 part_elements FINISH_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const struct sizes sizes = SIZES;
    const struct sizes *s = &sizes;
    struct work work = find_work(s, column_blocks);
    LANE sums[TILES_M][TILES_N][4];
    const int item = (int)LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    OPEN_LOCAL_MEMORY;
    const unsigned tiles = local_place(local_memory) + PLACES_BYTES;
    OPEN_WORK

    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int j = 0; j < TILES_N; j++)
        UNROLL for (int e = 0; e < 4; e++) sums[i][j][e] = 0;

    PREPARE(0);
    UNROLL for (int stage = 0; stage < STAGES - 1; stage++)
    {
        BARRIER_TO_LOAD();
        if (stage < work.steps)
            LOAD_BLOCK(stage, stage);
        end_stage();
        PREPARE(stage + 1);
    }
    for (int at = 0; at < work.steps; at++) {
        AWAIT_STAGES(STAGES - 2);
        BARRIER();
        if (at + STAGES - 1 < work.steps)
            LOAD_BLOCK((at + STAGES - 1) % STAGES, at + STAGES - 1);
        PREPARE(at + STAGES);
        end_stage();
        multiply_stage(local_memory, tiles + at % STAGES * STAGE_BYTES, sums, warp_m, warp_n, item);
    }
    AWAIT_STAGES(0);
    BARRIER();
    STORE_WORK
}
