/*
 * Forward convolution of one shape, NCHW FP32, for a CPU's vector units. x is the copy that conv_cpu_pack_x
 * makes (or x itself where they are equal), in which VEC neighbouring output positions, counted along rows of
 * PITCH, read VEC neighbouring floats through each filter position. Positions from OUT_W to PITCH of a row are
 * computed but not stored.
 *
 * One work-item computes TILE_VECTORS * VEC positions of K_BLOCK output channels, TILE_K at a time with their
 * sums in registers. The whole shape is compiled in: C_COUNT and K_COUNT (channels of a group), GROUPS, FIL_H,
 * FIL_W, OUT_H, OUT_W, ROWS and PITCH of the copy, PHASES_H, PHASES_W, STRIDE_*, DILATION_*.
 */
#include "epilogue.h"

#define TILE (TILE_VECTORS * VEC)
#define PHASE (ROWS * PITCH)
#define CHANNEL (PHASES_H * PHASES_W * PHASE)
#define CRS (C_COUNT * FIL_H * FIL_W)

/* Offset in elements, within a channel of the padded copy, of the input under filter row r and column s. */
#define ROW_OFFSET(r) ((r) % PHASES_H * (PHASES_W * PHASE) + (r) * DILATION_H / STRIDE_H * PITCH)
#define COLUMN_OFFSET(s) ((s) % PHASES_W * PHASE + (s) * DILATION_W / STRIDE_W)

/* Whether VEC positions from q on are neighbours in y. */
#if PITCH == OUT_W
#define IS_WHOLE(q, row, column) ((q) + VEC <= OUT_H * OUT_W)
#else
#define IS_WHOLE(q, row, column) ((column) + VEC <= OUT_W && (row) < OUT_H)
#endif

/* Stores the sums of VEC neighbouring positions, q the first, without positions outside of y. */
DEVICE void store_row(GLOBAL float *y, int q, vec sum EPILOGUE_PARAMETERS)
{
    int row = q / PITCH, column = q % PITCH;
    float lanes[VEC];
    if (IS_WHOLE(q, row, column)) {
#ifdef EPILOGUE
        sum = epilogue_vec(sum, 0, 0, row * OUT_W + column, 1 EPILOGUE_ARGUMENTS);
#endif
        vec_store(y + row * OUT_W + column, sum);
        return;
    }
    vec_store(lanes, sum);
    for (int lane = 0; lane < VEC; lane++) {
        if (column < OUT_W && row < OUT_H)
            EPILOGUE_STORE(FP32, y, row * OUT_W + column, lanes[lane], 0);
        column++;
        if (column == PITCH) {
            column = 0;
            row++;
        }
    }
}

/* Computes one tile of sums. Channels past k_left repeat the last channel and are not stored. */
DEVICE void compute_tile(GLOBAL const float *x, GLOBAL const float *w, GLOBAL float *y, int q,
                         int k_left EPILOGUE_PARAMETERS)
{
    vec sum[TILE_K][TILE_VECTORS];
    GLOBAL const float *row[TILE_K];
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
        row[k] = w + (k < k_left ? k : k_left - 1) * CRS;
#pragma unroll
        for (int v = 0; v < TILE_VECTORS; v++)
            sum[k][v] = vec_splat(0.0f);
    }
    for (int cr = 0; cr < C_COUNT * FIL_H; cr++) {
        GLOBAL const float *x_row = x + cr / FIL_H * CHANNEL + ROW_OFFSET(cr % FIL_H);
#pragma unroll UNROLL
        for (int s = 0; s < FIL_W; s++) {
            vec pixels[TILE_VECTORS];
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                pixels[v] = vec_load(x_row + COLUMN_OFFSET(s) + v * VEC);
#pragma unroll
            for (int k = 0; k < TILE_K; k++) {
                vec weight = vec_splat(row[k][cr * FIL_W + s]);
#pragma unroll
                for (int v = 0; v < TILE_VECTORS; v++)
                    sum[k][v] = vec_madd(sum[k][v], weight, pixels[v]);
            }
        }
    }
#ifdef EPILOGUE
    /* The loops with the epilogue, which is much code, are not unrolled, so that the sums leave the registers first. */
    float done[TILE_K * TILE];
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
#pragma unroll
        for (int v = 0; v < TILE_VECTORS; v++)
            vec_store(done + k * TILE + v * VEC, sum[k][v]);
    }
#pragma unroll 1
    for (int at = 0; at < TILE_K * TILE_VECTORS; at++) {
        int k = at / TILE_VECTORS;
        if (k < k_left)
            store_row(y + k * (OUT_H * OUT_W), q + at % TILE_VECTORS * VEC,
                      vec_load(done + at * VEC) EPILOGUE_ARGUMENTS_AT(k * (OUT_H * OUT_W), k));
    }
#else
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
        if (k < k_left) {
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                store_row(y + k * (OUT_H * OUT_W), q + v * VEC, sum[k][v]);
        }
    }
#endif
}

/* Grid: tiles of positions, channel blocks of a group, images times groups. */
KERNEL(1, 1, 1) conv_cpu_direct(GLOBAL const float *RESTRICT x, GLOBAL const float *RESTRICT w,
                                  GLOBAL float *RESTRICT y EPILOGUE_PARAMETERS)
{
    int q = (int)GROUP_ID(0) * TILE;
    int first_k = (int)GROUP_ID(1) * K_BLOCK;
    int end_k = first_k + K_BLOCK < K_COUNT ? first_k + K_BLOCK : K_COUNT;
    int image_group = (int)GROUP_ID(2);
    x += image_group * (C_COUNT * CHANNEL) + q;
    w += image_group % GROUPS * (K_COUNT * CRS);
    y += image_group * (K_COUNT * OUT_H * OUT_W);
    EPILOGUE_ADVANCE(image_group * (K_COUNT * OUT_H * OUT_W), image_group % GROUPS * K_COUNT);
    for (int k = first_k; k < end_k; k += TILE_K)
        compute_tile(x, w + k * CRS, y + k * (OUT_H * OUT_W), q,
                     end_k - k EPILOGUE_ARGUMENTS_AT(k * (OUT_H * OUT_W), k));
}
