/*
 * The tile of sums that matrix-product kernels on vector units share.
 *
 * A workgroup of THREADS_M by THREADS_N work-items computes a block of BLOCK_M rows by BLOCK_N columns, BLOCK_K
 * terms at a time. The kernel copies the terms into local memory as a[term][row] and b[term][column], with
 * zeros past the ends, and tile_multiply() adds their products. A work-item computes REPEAT_M tiles, each the sums of
 * TILE_M rows by TILE_VECTORS vectors of VEC columns. On a GPU REPEAT_M is 1 and sums stay in registers. On a CPU a
 * workgroup is one work-item, and each tile's sums pass through the registers once for each round of BLOCK_K terms.
 *
 * Options: THREADS_M, THREADS_N, VEC, TILE_M, TILE_VECTORS, REPEAT_M, BLOCK_K; LANE where sums are not float;
 * TYPE_C, the product's stored type; C_RUNS, 1 to store VEC neighbouring columns as a vector (FP32 only);
 * and those of epilogue.h, for a product whose rows are channels.
 */
#include "dialect.h"
#include "epilogue.h"
#include "digits.h"

#define THREADS (THREADS_M * THREADS_N)
#define BLOCK_M (THREADS_M * TILE_M * REPEAT_M)
#define BLOCK_N (THREADS_N * TILE_VECTORS * VEC)
/* The number of vectors of VEC columns in a block. */
#define BLOCK_RUNS (THREADS_N * TILE_VECTORS)

#define ITEM ((int)LOCAL_ID(0))
#define ITEM_M (ITEM / THREADS_N)
#define ITEM_N (ITEM % THREADS_N)

/* Row (TILE_ROW) and first column (TILE_COLUMN) within the block of the work-item's sum [repeat][i][v]. */
#define TILE_ROW(repeat, i) (((repeat) * THREADS_M + ITEM_M) * TILE_M + (i))
#define TILE_COLUMN(v) (((v) * THREADS_N + ITEM_N) * VEC)

/* Unroll counts of loops over sums. Sums in registers need constant indices, so these loops are unrolled; elsewhere
 * unrolling only costs compile time. An enum, since NVIDIA's compiler takes no macro in a pragma. */
#if REPEAT_M == 1
enum {
    TILE_UNROLL_ROWS = TILE_M,
    TILE_UNROLL_VECTORS = TILE_VECTORS,
    TILE_UNROLL_LANES = VEC,
};
#else
enum {
    TILE_UNROLL_ROWS = 1,
    TILE_UNROLL_VECTORS = 1,
    TILE_UNROLL_LANES = 1,
};
#endif

typedef vec tile_sums[REPEAT_M][TILE_M][TILE_VECTORS];

DEVICE void tile_clear(vec (*sums)[TILE_M][TILE_VECTORS])
{
    for (int r = 0; r < REPEAT_M; r++) {
#pragma unroll TILE_UNROLL_ROWS
        for (int i = 0; i < TILE_M; i++) {
#pragma unroll TILE_UNROLL_VECTORS
            for (int v = 0; v < TILE_VECTORS; v++)
                sums[r][i][v] = vec_splat(0);
        }
    }
}

DEVICE void tile_multiply(LOCAL_POINTER const LANE *a, LOCAL_POINTER const LANE *b,
                          vec (*sums)[TILE_M][TILE_VECTORS])
{
    for (int r = 0; r < REPEAT_M; r++) {
        vec sum[TILE_M][TILE_VECTORS];
#pragma unroll
        for (int i = 0; i < TILE_M; i++) {
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                sum[i][v] = sums[r][i][v];
        }
#pragma unroll 2
        for (int k = 0; k < BLOCK_K; k++) {
            LOCAL_POINTER const LANE *rows = a + k * BLOCK_M + TILE_ROW(r, 0);
            vec columns[TILE_VECTORS];
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                columns[v] = vec_load(b + k * BLOCK_N + TILE_COLUMN(v));
#pragma unroll
            for (int i = 0; i < TILE_M; i++) {
                vec row = vec_splat(rows[i]);
#pragma unroll
                for (int v = 0; v < TILE_VECTORS; v++)
                    sum[i][v] = vec_madd(sum[i][v], row, columns[v]);
            }
        }
#pragma unroll
        for (int i = 0; i < TILE_M; i++) {
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                sums[r][i][v] = sum[i][v];
        }
    }
}

/* Whether VEC columns with these offsets (-1 for none) are neighbours in memory. */
DEVICE int tile_is_run(LOCAL_POINTER const i64 *columns)
{
    int is_run = columns[0] >= 0;
    for (int i = 1; i < VEC; i++)
        is_run &= columns[i] == columns[0] + i;
    return is_run;
}

/* Stores VEC sums of a row of c at the offsets in `columns`; a column with offset -1 does not exist and is not
 * stored. */
DEVICE void tile_store_run(GLOBAL STORAGE(TYPE_C) *c, LOCAL_POINTER const i64 *columns,
                           vec sums EPILOGUE_PARAMETERS)
{
    LANE lanes[VEC];
#if C_RUNS && !defined(EP_INT)
    if (tile_is_run(columns)) {
#ifdef EPILOGUE
        sums = epilogue_vec(sums, 0, 0, columns[0], 1 EPILOGUE_ARGUMENTS);
#endif
        vec_store(c + columns[0], sums);
        return;
    }
#endif
    vec_store(lanes, sums);
#pragma unroll TILE_UNROLL_LANES
    for (int lane = 0; lane < VEC; lane++) {
        if (columns[lane] >= 0)
            EPILOGUE_STORE(TYPE_C, c, columns[lane], lanes[lane], 0);
    }
}

/* Stores a work-item's sums: each at the sum of its row's offset and its column's offset in c. A row or column with
 * offset -1 does not exist and is not stored. An epilogue's channels count from the block's first row. */
DEVICE void tile_store(GLOBAL STORAGE(TYPE_C) *c, LOCAL_POINTER const i64 *rows,
                       LOCAL_POINTER const i64 *columns,
                       vec (*sums)[TILE_M][TILE_VECTORS] EPILOGUE_PARAMETERS)
{
    for (int r = 0; r < REPEAT_M; r++) {
#pragma unroll TILE_UNROLL_ROWS
        for (int i = 0; i < TILE_M; i++) {
            i64 row = rows[TILE_ROW(r, i)];
            if (row < 0)
                continue;
#pragma unroll TILE_UNROLL_VECTORS
            for (int v = 0; v < TILE_VECTORS; v++)
                tile_store_run(c + row, columns + TILE_COLUMN(v),
                               sums[r][i][v] EPILOGUE_ARGUMENTS_AT(row, TILE_ROW(r, i)));
        }
    }
}
