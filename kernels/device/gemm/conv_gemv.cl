/*
 * Forward convolutions whose filter is the whole image: each result is the product of two rows of `length` elements, one
 * of x (an image) and one of w (a filter), which lie in the same order. Reading w takes the time, so work-items that are
 * neighbours read neighbouring pieces of a row.
 *
 * A workgroup of THREADS work-items computes ROWS channels of N_TILE images. Each work-item sums every THREADS-th piece
 * of VECTOR elements; then the workgroup joins the sums in local memory. A CPU's workgroup is one work-item, whose sums
 * have VECTOR lanes.
 *
 * Options: THREADS, a power of two, ROWS, VECTOR, N_TILE; TYPE_X, TYPE_W, TYPE_Y; LANE, what is summed: float or int.
 * Grid: blocks of channels, blocks of images. The shape is given by arguments.
 */
#include "epilogue.h"

#define RESULTS (ROWS * N_TILE)
#define LANES   (THREADS == 1 ? VECTOR : 1)

/* Pieces that a work-item reads at once; an enum, since some compilers take no macro behind `unroll`. */
enum { PIECES_AT_ONCE = RESULTS * VECTOR > 16 ? 1 : 4 };

#define LOAD_ELEMENTS(type, lanes, from)                                                           \
    for (int v = 0; v < VECTOR; v++)                                                               \
    (lanes)[v] = (LANE)LOAD(type, from, v)

#if !defined(__OPENCL_VERSION__) && VECTOR > 1
/* Pieces have at most 16 bytes. Where all are aligned, one instruction loads each. */
#define PIECE_BYTES(type)         (sizeof(STORAGE(type)) * VECTOR)
#define IS_ALIGNED(pointer, type) (((unsigned long long)(pointer) & (PIECE_BYTES(type) - 1)) == 0)
#define ALL_ARE_ALIGNED           (length % VECTOR == 0 && IS_ALIGNED(x, TYPE_X) && IS_ALIGNED(w, TYPE_W))
struct ALIGNED(PIECE_BYTES(TYPE_X)) piece_of_x {
    STORAGE(TYPE_X) at[VECTOR];
};
struct ALIGNED(PIECE_BYTES(TYPE_W)) piece_of_w {
    STORAGE(TYPE_W) at[VECTOR];
};
#define LOAD_PIECE(name, type, lanes, from)                                                        \
    if (is_aligned) {                                                                              \
        const struct name piece = *(const struct name *)(from);                                    \
        LOAD_ELEMENTS(type, lanes, piece.at);                                                      \
    } else {                                                                                       \
        LOAD_ELEMENTS(type, lanes, from);                                                          \
    }
#else
#define ALL_ARE_ALIGNED                     0
#define LOAD_PIECE(name, type, lanes, from) LOAD_ELEMENTS(type, lanes, from)
#endif

/* Adds the products of this work-item's pieces. */
DEVICE void add_pieces(GLOBAL const STORAGE(TYPE_X) *const *images,
                       GLOBAL const STORAGE(TYPE_W) *const *rows, int item, int length,
                       int is_aligned, LANE (*sums)[N_TILE][LANES])
{
    (void)is_aligned;
#pragma unroll PIECES_AT_ONCE
    for (int at = item * VECTOR; at + VECTOR <= length; at += THREADS * VECTOR) {
        LANE elements[N_TILE][VECTOR];
#pragma unroll
        for (int n = 0; n < N_TILE; n++) {
            LOAD_PIECE(piece_of_x, TYPE_X, elements[n], images[n] + at);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            LANE weights[VECTOR];
            LOAD_PIECE(piece_of_w, TYPE_W, weights, rows[r] + at);
#pragma unroll
            for (int n = 0; n < N_TILE; n++) {
#pragma unroll
                for (int v = 0; v < VECTOR; v++)
                    sums[r][n][v % LANES] += weights[v] * elements[n][v];
            }
        }
    }
}

KERNEL(THREADS, 1, 1)
conv_gemv(GLOBAL const STORAGE(TYPE_X) * RESTRICT x, GLOBAL const STORAGE(TYPE_W) * RESTRICT w,
          GLOBAL STORAGE(TYPE_Y) * RESTRICT y, int n_count, int k_count,
          int length EPILOGUE_PARAMETERS)
{
#if THREADS > 1
    LOCAL_ARRAY LANE joined[RESULTS * THREADS];
#else
    LANE joined[RESULTS];
#endif
    const int item = (int)LOCAL_ID(0);
    const int first_k = (int)GROUP_ID(0) * ROWS, first_n = (int)GROUP_ID(1) * N_TILE;
    GLOBAL const STORAGE(TYPE_X) * images[N_TILE];
    GLOBAL const STORAGE(TYPE_W) * rows[ROWS];
    LANE sums[ROWS][N_TILE][LANES];
    /* Images and channels past the last one repeat it, and are not stored. */
#pragma unroll
    for (int n = 0; n < N_TILE; n++)
        images[n] = x + (i64)(first_n + n < n_count ? first_n + n : n_count - 1) * length;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        rows[r] = w + (i64)(first_k + r < k_count ? first_k + r : k_count - 1) * length;
#pragma unroll
        for (int n = 0; n < N_TILE; n++) {
#pragma unroll
            for (int v = 0; v < LANES; v++)
                sums[r][n][v] = 0;
        }
    }
    if (ALL_ARE_ALIGNED)
        add_pieces(images, rows, item, length, 1, sums);
    else
        add_pieces(images, rows, item, length, 0, sums);
    for (int at = length / VECTOR * VECTOR + item; at < length; at += THREADS) {
#pragma unroll
        for (int i = 0; i < RESULTS; i++)
            sums[i / N_TILE][i % N_TILE][0] += (LANE)LOAD(TYPE_W, rows[i / N_TILE], at) *
                                               (LANE)LOAD(TYPE_X, images[i % N_TILE], at);
    }
#pragma unroll
    for (int i = 0; i < RESULTS; i++) {
        LANE sum = sums[i / N_TILE][i % N_TILE][0];
#pragma unroll
        for (int v = 1; v < LANES; v++)
            sum += sums[i / N_TILE][i % N_TILE][v];
        joined[i * THREADS + item] = sum;
    }
#if THREADS > 1
    BARRIER();
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        if (item < reach) {
#pragma unroll
            for (int i = 0; i < RESULTS; i++)
                joined[i * THREADS + item] += joined[i * THREADS + item + reach];
        }
        BARRIER();
    }
#endif
    for (int i = item; i < RESULTS; i += THREADS) {
        const int k = first_k + i / N_TILE, n = first_n + i % N_TILE;
        if (k < k_count && n < n_count)
            EPILOGUE_STORE(TYPE_Y, y, (i64)n * k_count + k, joined[i * THREADS], k);
    }
}
