/*
 * Convolutions as matrix products on NVIDIA's matrix units: m rows by n columns, summed over terms. The
 * channels of all tensors lie innermost (NHWC), so that eight of them are one load of 16 bytes.
 *
 *   DIRECTION_F  rows: positions of y; columns: k; terms: filter positions, c within
 *   DIRECTION_B  rows: positions of x; columns: c; terms: filter positions, k within
 *   DIRECTION_W  rows: k; columns: c of one filter position; terms: positions of y
 *
 * A workgroup computes BLOCK_M by BLOCK_N sums and each of its warps WARP_M by WARP_N of them, in
 * registers, by products of 16 by 8 by 16 (mma.sync). Blocks of BLOCK_K terms of both operands come into
 * local memory without passing through registers (cp.async), STAGES of them under way; what lies outside
 * of a tensor arrives as zeros. An operand lies there as it lies in memory: with the terms
 * innermost, or (BY_TERM) with rows or columns innermost, and is then turned around by the load into
 * registers (ldmatrix, .trans). 16 bytes are a chunk; chunks of a line change places by the line's number, so
 * that eight lines of one chunk lie in different banks.
 *
 * W's terms may be split into parts (SPLIT): each leaves its sums in FP32 for conv_sum_splits.cl.
 *
 * Options: DIRECTION_*, TYPE (FP16 or BF16), the sizes above, SPLIT.
 */
#include "dialect.h"

#define WARPS_M (BLOCK_M / WARP_M)
#define WARPS_N (BLOCK_N / WARP_N)
#define ITEMS   (32 * WARPS_M * WARPS_N)
#define TILES_M (WARP_M / 16)
#define TILES_N (WARP_N / 8)

#include "matrix_nhwc.h"

/* ---- the machine's instructions ---- */

DEVICE void load_matrices(unsigned *to, unsigned from, int turn)
{
    if (turn)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
}

#define MULTIPLY_TEXT(type)                                                                        \
    "mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                 \
    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
DEVICE void multiply(float *sums, const unsigned *a, const unsigned *b)
{
    asm volatile(TYPE_TEXT(MULTIPLY_TEXT)
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* ---- registers ---- */

/* The four matrices of 8 by 8 that 16 rows by 16 terms are, in the order of the products' operand a: rows
 * first. Each lane names a line of one of them. */
DEVICE void load_a(unsigned *to, unsigned tile, int row, int term, int lane)
{
    int line, chunk;
    if (A_BY_TERM) {
        line = term + (lane >> 4) * 8 + (lane & 7);
        chunk = row / 8 + (lane >> 3 & 1);
    } else {
        line = row + (lane & 15);
        chunk = term / 8 + (lane >> 4);
    }
    load_matrices(to, tile + chunk_at(line, chunk, A_CHUNKS), A_BY_TERM);
}

/* The same of 16 columns: two operands b, terms first. */
DEVICE void load_b(unsigned *to, unsigned tile, int column, int term, int lane)
{
    int line, chunk;
    if (B_BY_TERM) {
        line = term + (lane >> 3 & 1) * 8 + (lane & 7);
        chunk = column / 8 + (lane >> 4);
    } else {
        line = column + (lane >> 4) * 8 + (lane & 7);
        chunk = term / 8 + (lane >> 3 & 1);
    }
    load_matrices(to, tile + chunk_at(line, chunk, B_CHUNKS), B_BY_TERM);
}

/* ---- what is stored ---- */

#if defined(DIRECTION_W) && SPLIT
/* parts[k][c][fil_h][fil_w] of all groups' k */
DEVICE void store_part(float *parts, float sums[TILES_M][TILES_N][4], const struct sizes *s,
                       int first_k, int first_c, int tap, int warp_m, int warp_n, int lane)
{
    int taps = s->fil_h * s->fil_w;
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int k = first_k + warp_m * WARP_M + i * 16 + e / 2 * 8 + lane / 4;
                int c = first_c + warp_n * WARP_N + j * 8 + lane % 4 * 2 + e % 2;
                if (k < s->k && c < s->c)
                    parts[((i64)k * s->c + c) * taps + tap] = sums[i][j][e];
            }
}
#endif

/* ---- the product ---- */

DEVICE void multiply_stage(unsigned a, unsigned b, float sums[TILES_M][TILES_N][4], int warp_m,
                           int warp_n, int lane)
{
#pragma unroll
    for (int term = 0; term < BLOCK_K; term += 16) {
        unsigned rows[TILES_M][4], columns[TILES_N / 2][4];
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
            load_a(rows[i], a, warp_m * WARP_M + i * 16, term, lane);
#pragma unroll
        for (int j = 0; j < TILES_N / 2; j++)
            load_b(columns[j], b, warp_n * WARP_N + j * 16, term, lane);
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int j = 0; j < TILES_N; j++)
                multiply(sums[i][j], rows[i], &columns[j / 2][j % 2 * 2]);
    }
}

KERNEL(ITEMS, 1, 1)
conv_matrix(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
            GLOBAL RESULT *RESTRICT result, int n, int c, int k, int groups, int in_h, int in_w, int out_h, int out_w, int fil_h, int fil_w, int pad_h,
            int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int splits,
            int part_terms)
{
    const struct sizes sizes = {n,     c,     k,     groups, in_h,     in_w,     out_h,      out_w,
                                fil_h, fil_w, pad_h, pad_w,  stride_h, stride_w, dilation_h, dilation_w};
    const struct sizes *s = &sizes;
    struct step step = {0, 0, 0};
    float sums[TILES_M][TILES_N][4];
    const int item = LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    const int first_row = GROUP_ID(0) * BLOCK_M, first_column = GROUP_ID(1) * BLOCK_N;
    const unsigned local = local_address(local_memory);
    int group, steps;

#if !defined(DIRECTION_W)
    struct rows rows;
    const int row_count = n * ROW_H * ROW_W;
    group = GROUP_ID(2);
    steps = fil_h * fil_w * ((TERMS + BLOCK_K - 1) / BLOCK_K);
    find_rows(&rows, s, first_row, row_count, item);
    a += (i64)group * TERMS;
    b += (i64)group * k * fil_h * fil_w * c;
#define LOAD_STAGE(stage)                                                                          \
    do {                                                                                           \
        unsigned to = local + (stage) * STAGE_BYTES;                                               \
        load_rows(to, a, &rows, s, &step, item);                                                   \
        load_filter(to + A_BYTES, b, s, &step, first_column, item);                                \
        advance(&step, s);                                                                         \
    } while (0)
#else
    int rest = GROUP_ID(2), tap = rest % (fil_h * fil_w), part, end;
    rest /= fil_h * fil_w;
    part = rest % splits;
    group = rest / splits;
    step.fil_h = tap / fil_w;
    step.fil_w = tap % fil_w;
    step.term = part * part_terms;
    end = n * out_h * out_w;
    end = step.term + part_terms < end ? step.term + part_terms : end;
    steps = end > step.term ? (end - step.term + BLOCK_K - 1) / BLOCK_K : 0;
    a += (i64)group * k;
    b += (i64)group * c;
#define LOAD_STAGE(stage)                                                                          \
    do {                                                                                           \
        unsigned to = local + (stage) * STAGE_BYTES;                                               \
        load_positions(to, a, s, &step, end, first_row, 0, item);                                  \
        load_positions(to + A_BYTES, b, s, &step, end, first_column, 1, item);                     \
        step.term += BLOCK_K;                                                                      \
    } while (0)
#endif

#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sums[i][j][e] = 0;

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < steps)
            LOAD_STAGE(stage);
        end_stage();
    }
    for (int at = 0; at < steps; at++) {
        unsigned tile = local + at % STAGES * STAGE_BYTES;
        AWAIT_STAGES(STAGES - 2);
        BARRIER();
        if (at + STAGES - 1 < steps)
            LOAD_STAGE((at + STAGES - 1) % STAGES);
        end_stage();
        multiply_stage(tile, tile + A_BYTES, sums, warp_m, warp_n, lane);
    }
    AWAIT_STAGES(0);
    BARRIER();

#if defined(DIRECTION_W) && SPLIT
    result += ((i64)part * groups + group) * k * c * fil_h * fil_w;
    store_part(result, sums, s, first_row, first_column, tap, warp_m, warp_n, lane);
#else
    stage_sums(local_memory, sums, warp_m, warp_n, lane);
    BARRIER();
#if defined(DIRECTION_W)
    result += ((i64)group * k * fil_h * fil_w + tap) * c;
    store_rows(result, local_memory, first_row, k, first_column, c, (i64)fil_h * fil_w * c, item);
#else
    store_rows(result + (i64)group * COLUMNS, local_memory, first_row, row_count, first_column, COLUMNS,
               (i64)groups * COLUMNS, item);
#endif
#endif
}
