/*
 * A batched matrix product C = A B of tensors in place: rows (m), columns (n) and terms (k) are each made of up
 * to four axes with strides of their own. Convolutions that need no unfolding, unfolded inputs and Winograd's
 * planes are such products. Grid: column blocks, row blocks, then batches times splits. With SPLITS (split-K) each
 * split sums a part of the terms into its own matrix, and another kernel adds up these matrices.
 *
 * Options: those of tile.h; TYPE_A and TYPE_B, the stored types; A_BY_K and B_BY_K, 1 where neighbouring terms
 * are neighbours in memory, else 0; B_RUNS, 1 to load VEC neighbouring columns as a vector (FP32 only). With an
 * epilogue the second batch axis is the groups, and rows are a group's channels.
 */
#include "tile.h"

/* An element's offset along one of the operand's two dimensions; -1 past the end. */
#define OFFSET(place, s)                                                                           \
    ((place).at[0] * s##0 + (place).at[1] * s##1 + (place).at[2] * s##2 + (place).at[3] * s##3)

#define STRIDES(s) i64 s##0, i64 s##1, i64 s##2, i64 s##3

/* Copies operand a's terms for the rows of the block into a_tile, with zeros where an offset is -1. */
DEVICE void load_rows(GLOBAL const STORAGE(TYPE_A) *a, LOCAL_POINTER const i64 *a_row,
                      LOCAL_POINTER const i64 *a_term, LOCAL_POINTER LANE *a_tile)
{
    for (int i = ITEM; i < BLOCK_K * BLOCK_M; i += THREADS) {
        int term = A_BY_K ? i % BLOCK_K : i / BLOCK_M;
        int row = A_BY_K ? i / BLOCK_K : i % BLOCK_M;
        LANE value = 0;
        if (a_row[row] >= 0 && a_term[term] >= 0)
            value = LOAD(TYPE_A, a, a_row[row] + a_term[term]);
        a_tile[term * BLOCK_M + row] = value;
    }
}

/* Copies b's terms of the block's columns into b_tile, with zeros where an offset is -1. */
DEVICE void load_columns(GLOBAL const STORAGE(TYPE_B) *b, LOCAL_POINTER const i64 *b_column,
                         LOCAL_POINTER const i64 *b_term, LOCAL_POINTER LANE *b_tile)
{
#if B_RUNS
    for (int run = ITEM; run < BLOCK_RUNS; run += THREADS) {
        int is_run = tile_is_run(b_column + run * VEC);
        for (int term = 0; term < BLOCK_K; term++) {
            LOCAL_POINTER LANE *to = b_tile + term * BLOCK_N + run * VEC;
            if (is_run && b_term[term] >= 0) {
                vec_store(to, vec_load(b + b_column[run * VEC] + b_term[term]));
                continue;
            }
            for (int lane = 0; lane < VEC; lane++) {
                i64 column = b_column[run * VEC + lane];
                int is_there = column >= 0 && b_term[term] >= 0;
                to[lane] = is_there ? LOAD(TYPE_B, b, column + b_term[term]) : 0;
            }
        }
    }
#else
    for (int i = ITEM; i < BLOCK_K * BLOCK_N; i += THREADS) {
        int term = B_BY_K ? i % BLOCK_K : i / BLOCK_N;
        int column = B_BY_K ? i / BLOCK_K : i % BLOCK_N;
        LANE value = 0;
        if (b_column[column] >= 0 && b_term[term] >= 0)
            value = LOAD(TYPE_B, b, b_column[column] + b_term[term]);
        b_tile[term * BLOCK_N + column] = value;
    }
#endif
}

KERNEL(THREADS, 1, 1)
gemm(GLOBAL const STORAGE(TYPE_A) *RESTRICT a, GLOBAL const STORAGE(TYPE_B) *RESTRICT b,
     GLOBAL STORAGE(TYPE_C) *RESTRICT c, int m_count, int n_count, int k_count, int k_part,
     int batch_0, int batch_1, int m_1, int m_2, int m_3, int n_1, int n_2, int n_3, int k_1,
     int k_2, int k_3, STRIDES(a_m), STRIDES(c_m), STRIDES(b_n), STRIDES(c_n), STRIDES(a_k),
     STRIDES(b_k), i64 a_b0, i64 a_b1, i64 b_b0, i64 b_b1, i64 c_b0, i64 c_b1,
     i64 c_part EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY LANE a_tile[BLOCK_K * BLOCK_M];
    LOCAL_ARRAY LANE b_tile[BLOCK_K * BLOCK_N];
    LOCAL_ARRAY i64 a_row[BLOCK_M], c_row[BLOCK_M], b_column[BLOCK_N], c_column[BLOCK_N];
    LOCAL_ARRAY i64 a_term[BLOCK_K], b_term[BLOCK_K];
    tile_sums sums;
    int first_m = (int)GROUP_ID(1) * BLOCK_M, first_n = (int)GROUP_ID(0) * BLOCK_N;
    int batch = (int)GROUP_ID(2) % (batch_0 * batch_1);
    int part = (int)GROUP_ID(2) / (batch_0 * batch_1);
    int first_k = part * k_part;
    int end_k = k_count - first_k < k_part ? k_count : first_k + k_part;
    struct tile_digits m_digits = {m_1, m_2, m_3}, n_digits = {n_1, n_2, n_3};
    struct tile_digits k_digits = {k_1, k_2, k_3};

    a += batch / batch_1 * a_b0 + batch % batch_1 * a_b1;
    b += batch / batch_1 * b_b0 + batch % batch_1 * b_b1;
    c += batch / batch_1 * c_b0 + batch % batch_1 * c_b1 + part * c_part;
    EPILOGUE_ADVANCE(batch / batch_1 * c_b0 + batch % batch_1 * c_b1,
                     batch % batch_1 * m_count + first_m);
    for (int i = ITEM; i < BLOCK_M; i += THREADS) {
        struct tile_place place = tile_split(m_digits, first_m + i);
        a_row[i] = first_m + i < m_count ? OFFSET(place, a_m) : -1;
        c_row[i] = first_m + i < m_count ? OFFSET(place, c_m) : -1;
    }
    for (int i = ITEM; i < BLOCK_N; i += THREADS) {
        struct tile_place place = tile_split(n_digits, first_n + i);
        b_column[i] = first_n + i < n_count ? OFFSET(place, b_n) : -1;
        c_column[i] = first_n + i < n_count ? OFFSET(place, c_n) : -1;
    }
    tile_clear(sums);
    for (int k = first_k; k < end_k; k += BLOCK_K) {
        /* Each work-item finds the offsets of a few neighbouring terms for the whole workgroup. */
        int terms = (BLOCK_K + THREADS - 1) / THREADS;
        struct tile_place place = tile_split(k_digits, k + ITEM * terms);
        BARRIER();
        for (int i = ITEM * terms; i < (ITEM + 1) * terms && i < BLOCK_K; i++) {
            a_term[i] = k + i < end_k ? OFFSET(place, a_k) : -1;
            b_term[i] = k + i < end_k ? OFFSET(place, b_k) : -1;
            place = tile_step(k_digits, place);
        }
        BARRIER();
        load_rows(a, a_row, a_term, a_tile);
        load_columns(b, b_column, b_term, b_tile);
        BARRIER();
        tile_multiply(a_tile, b_tile, sums);
    }
    tile_store(c, c_row, c_column, sums EPILOGUE_ARGUMENTS);
}
