/*
 * A tile of FP32 sums for units without matrices. A workgroup of THREADS items
 * computes BLOCK_M rows by BLOCK_N columns, BLOCK_K terms at a time, of which
 * STAGES blocks lie in local memory as a[term][row] and b[term][column]: while
 * one is multiplied the others are on their way. An item keeps TILE_M by TILE_N
 * sums, in squares of four by four that lie apart, so that what a wave reads of
 * a row of a block is whole lines of banks.
 *
 * Options: BLOCK_M, BLOCK_N, TILE_M, TILE_N, BLOCK_K, STAGES; ASYNC, 1 where
 * elements go into local memory beside the items' own work (NVIDIA's from sm_80
 * on; elsewhere they are copied at once).
 */
#include "dialect.h"

#define THREADS_M (BLOCK_M / TILE_M)
#define THREADS_N (BLOCK_N / TILE_N)
#define THREADS (THREADS_M * THREADS_N)
#define ITEM ((int)LOCAL_ID(0))

/* Lines of a block are longer by a quad: two quads of terms, stored term by term, meet other banks. */
#define PITCH(block) ((block) + 4)
#define PITCH_QUADS(block) (PITCH(block) / 4)

/* ---- what the platforms have ---- */

/* Registers of an item: its sums, what it reads to multiply, what comes through registers into local
 * memory, addresses; the waves that each of a unit's four partitions has registers for, 16384 of them; and
 * the workgroups of so many. */
#define REGISTERS                                                                                  \
    (TILE_M * TILE_N + TILE_M + TILE_N + (BLOCK_M + BLOCK_N) * BLOCK_K / THREADS + 32)
#define PARTITION_WAVES (512 / REGISTERS)
#define RESIDENT (PARTITION_WAVES * 128 / THREADS > 0 ? PARTITION_WAVES * 128 / THREADS : 1)

/* Four floats: one load or store where they lie at a multiple of 16 bytes, as they must on GPUs. */
#if defined(__OPENCL_VERSION__)
#define SIMT_KERNEL KERNEL(THREADS, 1, 1)
#define UNROLLED(count) 1
struct quad {
    float lane[4];
};
struct pair {
    float lane[2];
};
#else
#define UNROLLED(count) (count)
struct __attribute__((aligned(16))) quad {
    float lane[4];
};
struct __attribute__((aligned(8))) pair {
    float lane[2];
};
#if defined(__HIP__)
#define SIMT_KERNEL KERNEL(THREADS, 1, 1)
#else
#define SIMT_KERNEL extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
#endif
#endif

/* Loops over what lies in registers. Elsewhere unrolling only costs compile time. */
enum {
    UNROLL_K = UNROLLED(BLOCK_K),
    UNROLL_M = UNROLLED(TILE_M),
    UNROLL_N = UNROLLED(TILE_N),
    UNROLL_QUADS_M = UNROLLED(TILE_M / 4),
    UNROLL_QUADS_N = UNROLLED(TILE_N / 4),
    UNROLL_QUAD = UNROLLED(4),
};

#if ASYNC && !defined(__OPENCL_VERSION__) && !defined(__HIP__)

DEVICE unsigned simt_address(const void *pointer)
{
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(address)
        : "l"(pointer));
    return address;
}

DEVICE void copy_one(float *to, const float *from, int there)
{
    int bytes = there ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(simt_address(to)), "l"(from),
                 "r"(bytes));
}

DEVICE void copy_quad(float *to, const float *from, int there)
{
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(simt_address(to)),
                 "l"(from), "r"(bytes));
}

#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
/* Until no more than that many blocks of terms are on their way. */
#define COPIES_AWAIT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")

#else

DEVICE void copy_one(LOCAL_POINTER float *to, GLOBAL const float *from, int there)
{
    float value = *from;
    *to = there ? value : 0;
}

DEVICE void copy_quad(LOCAL_POINTER float *to, GLOBAL const float *from, int there)
{
    for (int i = 0; i < 4; i++)
        copy_one(to + i, from + i, there);
}

#define COPIES_END()
#define COPIES_AWAIT(count)

#endif

/* ---- the tile ---- */

/* Items in waves of four by eight. Of each two neighbours one has the same rows, the other the same
 * columns: such reads of 16 bytes take half as long on NVIDIA's. */
#define ITEM_M (ITEM / 32 % (THREADS_M / 4) * 4 + (ITEM & 1) + (ITEM >> 1 & 2))
#define ITEM_N (ITEM / 32 / (THREADS_M / 4) * 8 + (ITEM >> 1 & 1) + (ITEM >> 2 & 6))

/* The first row and column of an item's squares. */
#define SQUARE_ROW(quad) (((quad) * THREADS_M + ITEM_M) * 4)
#define SQUARE_COLUMN(quad) (((quad) * THREADS_N + ITEM_N) * 4)

DEVICE void simt_clear(float (*sums)[TILE_N])
{
#pragma unroll UNROLL_M
    for (int i = 0; i < TILE_M; i++) {
#pragma unroll UNROLL_N
        for (int j = 0; j < TILE_N; j++)
            sums[i][j] = 0;
    }
}

/* A term's rows and columns. */
struct factors {
    float row[TILE_M], column[TILE_N];
};

DEVICE void simt_read(struct factors *factors, LOCAL_POINTER const struct quad *a,
                      LOCAL_POINTER const struct quad *b, int term)
{
#pragma unroll UNROLL_QUADS_M
    for (int q = 0; q < TILE_M / 4; q++) {
        struct quad quad = a[term * PITCH_QUADS(BLOCK_M) + q * THREADS_M + ITEM_M];
#pragma unroll UNROLL_QUAD
        for (int i = 0; i < 4; i++)
            factors->row[4 * q + i] = quad.lane[i];
    }
#pragma unroll UNROLL_QUADS_N
    for (int q = 0; q < TILE_N / 4; q++) {
        struct quad quad = b[term * PITCH_QUADS(BLOCK_N) + q * THREADS_N + ITEM_N];
#pragma unroll UNROLL_QUAD
        for (int i = 0; i < 4; i++)
            factors->column[4 * q + i] = quad.lane[i];
    }
}

/* Adds the products of a block of terms; the next term is read while one is multiplied. */
DEVICE void simt_multiply(LOCAL_POINTER const struct quad *a, LOCAL_POINTER const struct quad *b,
                          float (*sums)[TILE_N])
{
    struct factors factors[2];
    simt_read(&factors[0], a, b, 0);
#pragma unroll UNROLL_K
    for (int k = 0; k < BLOCK_K; k++) {
        if (k + 1 < BLOCK_K)
            simt_read(&factors[(k + 1) % 2], a, b, k + 1);
#pragma unroll UNROLL_M
        for (int i = 0; i < TILE_M; i++) {
#pragma unroll UNROLL_N
            for (int j = 0; j < TILE_N; j++)
                sums[i][j] += factors[k % 2].row[i] * factors[k % 2].column[j];
        }
    }
}

/* ---- what is stored ---- */

/* Stores four sums that lie side by side in c, or (`quads` is 0, or none is there) each where its
 * offset says, -1 for none. */
DEVICE void simt_store_four(GLOBAL float *c, int other, LOCAL_POINTER const int *at, int quads,
                            struct quad sums)
{
    if (quads) {
        if (at[0] >= 0)
            *(GLOBAL struct quad *)(c + other + at[0]) = sums;
        return;
    }
#pragma unroll UNROLL_QUAD
    for (int i = 0; i < 4; i++) {
        if (at[i] >= 0)
            c[other + at[i]] = sums.lane[i];
    }
}

/* Stores an item's sums, each where the offsets of its row and column, -1 for none, add up to.
 * C_BY_ROW is 1 where neighbouring rows lie side by side in c, 0 where neighbouring columns do;
 * `quads` says that four of them lie at a multiple of 16 bytes and are there together or not. */
DEVICE void simt_store(GLOBAL float *c, LOCAL_POINTER const int *rows,
                       LOCAL_POINTER const int *columns, int quads, float (*sums)[TILE_N])
{
#if C_BY_ROW
    LOCAL_POINTER const int *along = rows, *across = columns;
#define ALONG(quad) SQUARE_ROW(quad)
#define ACROSS_AT(quad) SQUARE_COLUMN(quad)
    enum {
        LINES = TILE_N,
        QUADS = TILE_M / 4,
        UNROLL_LINES = UNROLL_N,
        UNROLL_QUADS = UNROLL_QUADS_M
    };
#else
    LOCAL_POINTER const int *along = columns, *across = rows;
#define ALONG(quad) SQUARE_COLUMN(quad)
#define ACROSS_AT(quad) SQUARE_ROW(quad)
    enum {
        LINES = TILE_M,
        QUADS = TILE_N / 4,
        UNROLL_LINES = UNROLL_M,
        UNROLL_QUADS = UNROLL_QUADS_N
    };
#endif
#pragma unroll UNROLL_LINES
    for (int line = 0; line < LINES; line++) {
        int other = across[ACROSS_AT(line / 4) + line % 4];
#pragma unroll UNROLL_QUADS
        for (int q = 0; q < QUADS; q++) {
            struct quad four;
#pragma unroll UNROLL_QUAD
            for (int i = 0; i < 4; i++)
                four.lane[i] = C_BY_ROW ? sums[4 * q + i][line] : sums[line][4 * q + i];
            if (other >= 0)
                simt_store_four(c, other, along + ALONG(q), quads, four);
        }
    }
}

/* What `quads` may be beside 0 and 1: c has twice as many lines and columns as there are sums, and each
 * sum a zero behind it and two in the line below. QUADS_SPREAD where fours of columns are there together
 * and lie at a multiple of 16 bytes, else they are at one of 8. */
#define PAIRS_SPREAD 2
#define QUADS_SPREAD 3

DEVICE void simt_spread_pair(GLOBAL float *to, int line, float sum)
{
    const struct pair pair = {{sum, 0}}, none = {{0, 0}};
    *(GLOBAL struct pair *)to = pair;
    *(GLOBAL struct pair *)(to + line) = none;
}

DEVICE void simt_spread_quads(GLOBAL float *to, int line, const float *sums)
{
    const struct quad low = {{sums[0], 0, sums[1], 0}}, high = {{sums[2], 0, sums[3], 0}};
    const struct quad none = {{0, 0, 0, 0}};
    *(GLOBAL struct quad *)to = low;
    *(GLOBAL struct quad *)(to + 4) = high;
    *(GLOBAL struct quad *)(to + line) = none;
    *(GLOBAL struct quad *)(to + line + 4) = none;
}

/* Stores sums as simt_store() does, spread over lines of so many elements. */
DEVICE void simt_store_spread(GLOBAL float *c, LOCAL_POINTER const int *rows,
                              LOCAL_POINTER const int *columns, int quads, int line,
                              float (*sums)[TILE_N])
{
#pragma unroll UNROLL_M
    for (int i = 0; i < TILE_M; i++) {
        int row = rows[SQUARE_ROW(i / 4) + i % 4];
#pragma unroll UNROLL_N
        for (int j = 0; j < TILE_N; j++) {
            int column = columns[SQUARE_COLUMN(j / 4) + j % 4];
            if (row < 0 || column < 0)
                continue;
            if (quads == PAIRS_SPREAD)
                simt_spread_pair(c + row + column, line, sums[i][j]);
            else if (j % 4 == 0)
                simt_spread_quads(c + row + column, line, &sums[i][j]);
        }
    }
}
