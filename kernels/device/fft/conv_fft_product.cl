/*
 * The complex matrix product of spectra, one for each frequency and group: y (channels by columns) = conj(w)
 * (channels by terms) times x (terms by columns), in conv_fft.cl's layout. On a GPU a workgroup computes a
 * block of BLOCK_K channels by BLOCK_N columns, a tile of TILE_K by TILE_N for each work-item, from STAGE terms
 * at a time in local memory. On a CPU (STAGE 0) one work-item computes the block tile by tile from the spectra
 * themselves.
 *
 * Options: VEC, BLOCK_K, BLOCK_N, TILE_K, TILE_N (a multiple of VEC), STAGE.
 */
#include "dialect.h"

#define VECTORS (TILE_N / VEC)
#define ITEM ((int)LOCAL_ID(0))
#if STAGE > 0
#define ITEMS_N (BLOCK_N / TILE_N)
#define ITEMS (BLOCK_K / TILE_K * ITEMS_N)
#define PANEL LOCAL_POINTER
#else
#define ITEMS_N 1
#define ITEMS 1
#define PANEL GLOBAL
#endif

/* Column within the block at which vector v of work-item item_n begins. */
#define COLUMN(v, item_n) (((v) * ITEMS_N + (item_n)) * VEC)

/* Adds the products of `terms` terms to a tile's sums: w and x begin at its first channel and
 * column. */
DEVICE void add_terms(PANEL const float *w, PANEL const float *x, int terms, vec (*re)[VECTORS],
                      vec (*im)[VECTORS])
{
    for (int term = 0; term < terms; term++) {
        vec x_re[VECTORS], x_im[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            x_re[v] = vec_load(x + COLUMN(v, 0));
            x_im[v] = vec_load(x + BLOCK_N + COLUMN(v, 0));
        }
#pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            vec w_re = vec_splat(w[k]), w_im = vec_splat(w[BLOCK_K + k]);
            vec minus_w_im = vec_splat(-w[BLOCK_K + k]);
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                re[k][v] = vec_madd(re[k][v], w_re, x_re[v]);
                im[k][v] = vec_madd(im[k][v], w_re, x_im[v]);
                re[k][v] = vec_madd(re[k][v], w_im, x_im[v]);
                im[k][v] = vec_madd(im[k][v], minus_w_im, x_re[v]);
            }
        }
        w += 2 * BLOCK_K;
        x += 2 * BLOCK_N;
    }
}

DEVICE void clear(vec (*re)[VECTORS], vec (*im)[VECTORS])
{
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            re[k][v] = im[k][v] = vec_splat(0.0f);
    }
}

/* Stores a tile's sums. `y` points to the tile's first channel and column; only k_left channels exist and are stored.
 * */
DEVICE void store(vec (*re)[VECTORS], vec (*im)[VECTORS], GLOBAL float *y, int k_left)
{
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
        GLOBAL float *row = y + k * 2 * BLOCK_N;
        if (k < k_left) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                vec_store(row + COLUMN(v, 0), re[k][v]);
                vec_store(row + BLOCK_N + COLUMN(v, 0), im[k][v]);
            }
        }
    }
}

/* Grid: blocks of channels, blocks of columns and groups along the first axis, the first fastest; frequencies along
 * the second. */
KERNEL(ITEMS, 1, 1)
conv_fft_product(GLOBAL const float *RESTRICT w, GLOBAL const float *RESTRICT x,
                 GLOBAL float *RESTRICT y, int groups, int terms, int k_count, int n_blocks)
{
#if STAGE > 0
    LOCAL_ARRAY float w_stage[STAGE * 2 * BLOCK_K];
    LOCAL_ARRAY float x_stage[STAGE * 2 * BLOCK_N];
#endif
    vec re[TILE_K][VECTORS], im[TILE_K][VECTORS];
    int k_blocks = (k_count + BLOCK_K - 1) / BLOCK_K;
    int first_k = (int)GROUP_ID(0) % k_blocks * BLOCK_K;
    int n_block = (int)GROUP_ID(0) / k_blocks % n_blocks;
    int group = (int)GROUP_ID(0) / k_blocks / n_blocks;
    i64 batch = (i64)GROUP_ID(1) * groups + group;

    w += (batch * k_blocks * BLOCK_K + first_k) * terms * 2;
    x += (batch * n_blocks + n_block) * terms * 2 * BLOCK_N;
    y += ((batch * n_blocks + n_block) * k_count + first_k) * 2 * BLOCK_N;
#if STAGE > 0
    {
        int item_k = ITEM / ITEMS_N * TILE_K, item_n = ITEM % ITEMS_N;
        clear(re, im);
        for (int term = 0; term < terms; term += STAGE) {
            int left = terms - term < STAGE ? terms - term : STAGE;
            BARRIER();
#pragma unroll 4
            for (int i = ITEM; i < STAGE * 2 * BLOCK_K; i += ITEMS)
                w_stage[i] = i < left * 2 * BLOCK_K ? w[i] : 0.0f;
#pragma unroll 4
            for (int i = ITEM; i < STAGE * 2 * BLOCK_N; i += ITEMS)
                x_stage[i] = i < left * 2 * BLOCK_N ? x[i] : 0.0f;
            BARRIER();
            add_terms(w_stage + item_k, x_stage + COLUMN(0, item_n), STAGE, re, im);
            w += STAGE * 2 * BLOCK_K;
            x += STAGE * 2 * BLOCK_N;
        }
        store(re, im, y + (i64)item_k * 2 * BLOCK_N + COLUMN(0, item_n),
              k_count - first_k - item_k);
    }
#else
    for (int n = 0; n < BLOCK_N; n += TILE_N) {
        for (int k = 0; k < BLOCK_K && first_k + k < k_count; k += TILE_K) {
            clear(re, im);
            add_terms(w + k, x + n, terms, re, im);
            store(re, im, y + (i64)k * 2 * BLOCK_N + n, k_count - first_k - k);
        }
    }
#endif
}
