/*
 * Convolutions as matrix products on AMD's matrix units: m rows by n columns, summed over terms. All tensors
 * have channels innermost (NHWC, with DEPTH NDHWC).
 *
 *   DIRECTION_F  rows: positions of y; columns: k; terms: filter positions, c within
 *   DIRECTION_B  rows: positions of x; columns: c; terms: filter positions, k within
 *   DIRECTION_W  rows: k; columns: c of one filter position; terms: positions of y
 *
 * A workgroup computes BLOCK_M by BLOCK_N sums, and each of its waves WAVE_M by WAVE_N of them in registers.
 * While a block of BLOCK_K terms of both operands is multiplied from local memory, the next one is loaded into
 * registers. It is then written to the other of two BUFFERS, or with one buffer to the same one after all waves
 * have used it.
 *
 * W's terms may be split into parts (SPLIT), whose sums are stored in FP32 for conv_matrix_sum.cl.
 *
 * Options: DIRECTION_*, TYPE (FP32, FP16, BF16, FP8 or BF8; in F INT8, which gives INT32), for FP8 and BF8 also TYPE_B and
 * TYPE_RESULT, the sizes above, SPLIT; UNIT, UNIT_K and WMMA, which choose the instruction (matrix_unit_amd.h).
 */
#include "dialect.h"
#include "float8.h"

#define WAVES_M (BLOCK_M / WAVE_M)
#define WAVES_N (BLOCK_N / WAVE_N)
#define WAVES   (WAVES_M * WAVES_N)
#define ITEMS   (WAVE * WAVES)
#define TILES_M (WAVE_M / UNIT)
#define TILES_N (WAVE_N / UNIT)

#include "matrix_unit_amd.h"

#define LANE SUM
#include "matrix_epilogue.h"

#include "depth.h"
#include "matrix_blocks_amd.h"

#define BUFFER_CHUNKS (TILE_CHUNKS(BLOCK_M) + TILE_CHUNKS(BLOCK_N))
#define LOCAL_CHUNKS                                                                               \
    (BUFFERS * BUFFER_CHUNKS > STAGE_CHUNKS ? BUFFERS * BUFFER_CHUNKS : STAGE_CHUNKS)

#if SPLIT
#define RESULT float
#else
#define RESULT STORAGE(RESULT_TYPE)
#endif

#if defined(DIRECTION_W) && SPLIT
/* Stores the sums of one split-K part, for all its groups, in the result's layout. */
DEVICE void store_part(GLOBAL float *part, unit_sums sums[TILES_M][TILES_N], const struct sizes *s,
                       int first_k, int first_c, i64 line, int lane)
{
    UNIT_UNROLL
    for (int i = 0; i < TILES_M; i++)
        UNIT_UNROLL
        for (int j = 0; j < TILES_N; j++)
            UNIT_UNROLL
            for (int e = 0; e < UNIT_SUMS; e++) {
                int k = first_k + i * UNIT + sum_row(e, lane);
                int c = first_c + j * UNIT + lane % UNIT;
                if (k < s->k && c < s->c)
                    part[k * line + c] = sums[i][j][e];
            }
}
#endif

KERNEL(ITEMS, 1, 1)
conv_matrix_amd(GLOBAL const element *RESTRICT a, GLOBAL const element *RESTRICT b,
                GLOBAL RESULT *RESTRICT result, int n, int c, int k, int groups, int pitch, int in_h,
                int in_w, int out_h, int out_w, int fil_h, int fil_w, int pad_h, int pad_w, int stride_h,
                int stride_w, int dilation_h, int dilation_w, DEPTH_PARAMETERS int splits,
                int part_terms FINISH_PARAMETERS)
{
    LOCAL_ARRAY chunk local_chunks[LOCAL_CHUNKS];
    UNIT_SCRATCH
    const struct sizes sizes = {n,     c,     k,     groups, in_h,     in_w,     out_h,      out_w,
                                fil_h, fil_w, pad_h, pad_w,  stride_h, stride_w, dilation_h, dilation_w
                                DEPTH_SIZES};
    const struct sizes *s = &sizes;
    struct step step = {IF_DEPTH(0, ) 0, 0, 0};
    struct source source;
    struct fetched fetched;
    unit_sums sums[TILES_M][TILES_N];
    const int item = LOCAL_ID(0), lane = item % WAVE, wave = item / WAVE;
    const int first_row = GROUP_ID(0) * BLOCK_M, first_column = GROUP_ID(1) * BLOCK_N;
    const int wave_row = wave % WAVES_M * WAVE_M, wave_column = wave / WAVES_M * WAVE_N;
    /* Offsets in a buffer of local memory of the fragments that the lane loads for the wave's first tile and first
     * step. */
    const int group = LANE_GROUPS == 1 ? 0 : lane / UNIT;
    const int a_at = chunk_at(wave_row + lane % UNIT, group * FRAGMENT_CHUNKS);
    const int b_at =
        TILE_CHUNKS(BLOCK_M) + chunk_at(wave_column + lane % UNIT, group * FRAGMENT_CHUNKS);
    int layer = GROUP_ID(2), steps;

#if !defined(DIRECTION_W)
    steps = IF_DEPTH(fil_d *) fil_h * fil_w * ((TERMS + BLOCK_K - 1) / BLOCK_K);
    find_rows(&source, s, first_row, item);
    a += (i64)layer * TERMS;
    b += (i64)layer * k * IF_DEPTH(fil_d *) fil_h * fil_w * c;
#define FETCH()                                                                                    \
    do {                                                                                           \
        fetch_rows(&fetched, a, &source, s, &step, item);                                          \
        fetch_filter(&fetched, b, s, &step, first_column, item);                                   \
        advance(&step, s);                                                                         \
    } while (0)
#else
    int tap = layer % (IF_DEPTH(fil_d *) fil_h * fil_w), part, end;
    layer /= IF_DEPTH(fil_d *) fil_h * fil_w;
    part = layer % splits;
    layer /= splits;
    step.fil_h = tap / fil_w;
    step.fil_w = tap % fil_w;
    IF_DEPTH(step.fil_d = step.fil_h / fil_h; step.fil_h %= fil_h;)
    step.term = part * part_terms;
    end = n * IF_DEPTH(out_d *) out_h * out_w;
    end = end - step.term > part_terms ? step.term + part_terms : end;
    steps = end > step.term ? (end - step.term + BLOCK_K - 1) / BLOCK_K : 0;
    find_positions(&source, s, step.term, item);
    a += (i64)layer * k;
    b += (i64)layer * c;
#define FETCH()                                                                                    \
    do {                                                                                           \
        fetch_y(&fetched, a, s, &step, end, first_row, item);                                      \
        fetch_x(&fetched, b, &source, s, &step, end, first_column, item);                          \
        step.term += BLOCK_K;                                                                      \
    } while (0)
#endif

    UNIT_UNROLL
    for (int i = 0; i < TILES_M; i++)
        UNIT_UNROLL
        for (int j = 0; j < TILES_N; j++)
            UNIT_UNROLL
            for (int e = 0; e < UNIT_SUMS; e++)
                sums[i][j][e] = 0;

    FETCH();
    lay_blocks(local_chunks, &fetched, item);
    BARRIER();
    for (int at = 0; at < steps; at++) {
        int tile = at % BUFFERS * BUFFER_CHUNKS;
        if (at + 1 < steps)
            FETCH();
        UNIT_UNROLL
        for (int first = 0; first < CHUNKS; first += STEP_CHUNKS) {
            struct fragment rows[TILES_M], columns[TILES_N];
            UNIT_UNROLL
            for (int i = 0; i < TILES_M; i++)
                UNIT_UNROLL
                for (int f = 0; f < FRAGMENT_CHUNKS; f++)
                    rows[i].chunks[f] =
                        local_chunks[tile + a_at + chunk_at(i * UNIT, first + f)];
            UNIT_UNROLL
            for (int j = 0; j < TILES_N; j++)
                UNIT_UNROLL
                for (int f = 0; f < FRAGMENT_CHUNKS; f++)
                    columns[j].chunks[f] =
                        local_chunks[tile + b_at + chunk_at(j * UNIT, first + f)];
            MULTIPLY_FRAGMENTS(sums, rows, columns, item);
        }
        UNIT_SETTLE(sums);
#if BUFFERS == 1
        BARRIER();
#endif
        if (at + 1 < steps)
            lay_blocks(local_chunks + (at + 1) % BUFFERS * BUFFER_CHUNKS, &fetched, item);
        BARRIER();
    }

#if defined(DIRECTION_W)
    const int rows = k, columns = c;
    const i64 line = (i64)IF_DEPTH(fil_d *) fil_h * fil_w * c;
    (void)pitch;
    result += ((i64)layer * k * IF_DEPTH(fil_d *) fil_h * fil_w + tap) * c;
#if SPLIT
    result += (i64)part * groups * k * line;
    store_part(result, sums, s, first_row + wave_row, first_column + wave_column, line, lane);
#endif
#else
    const int rows = n * IF_DEPTH(ROW_D *) ROW_H * ROW_W, columns = COLUMNS;
    const i64 line = pitch;
    result += (i64)layer * columns;
#endif
#if !SPLIT
    UNIT_UNROLL
    for (int i = 0; i < TILES_M; i++) {
        LOCAL_POINTER chunk *stage = local_chunks + wave * UNIT * STAGE_LINE;
        const struct wave_rows at = {first_row + wave_row + i * UNIT, rows,
                                     first_column + wave_column, layer};
        stage_sums(stage, sums[i], &at, s, lane FINISH_ARGUMENTS);
        BARRIER();
        store_rows(result, stage, at.first, rows, at.column, columns, line, lane);
        BARRIER();
    }
#endif
}
