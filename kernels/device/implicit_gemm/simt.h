/*
 * A tile of FP32 sums for a GPU's vector units. A workgroup of THREADS work-items computes BLOCK_M rows by
 * BLOCK_N columns, BLOCK_K terms at a time. STAGES blocks of terms are in local memory as a[term][row] and
 * b[term][column]: one is multiplied while the others arrive. A work-item has TILE_M by TILE_N sums in squares
 * of four by four that are spread over the block, so that a wave reads whole lines of banks of a row.
 *
 * Options: BLOCK_M, BLOCK_N, TILE_M, TILE_N, BLOCK_K, STAGES; ASYNC, 1 where elements are copied into local
 * memory while the work-items compute (NVIDIA from sm_80 on; elsewhere they are copied at once); and those of
 * epilogue.h, for a product whose rows are channels.
 */
#include "dialect.h"
#include "epilogue.h"

#define THREADS_M (BLOCK_M / TILE_M)
#define THREADS_N (BLOCK_N / TILE_N)
#define THREADS (THREADS_M * THREADS_N)
#define ITEM ((int)LOCAL_ID(0))

/* Elements of a line in local memory. Four extra elements put two groups of terms, which are stored term by term,
 * into different banks. */
#define PITCH(block) ((block) + 4)
#define PITCH_QUADS(block) (PITCH(block) / 4)

/* ---- differences between the platforms ---- */

/* REGISTERS: a work-item's estimate for sums, operands, elements that pass through registers, and addresses.
 * PARTITION_WAVES: waves of such work-items that one of an NVIDIA multiprocessor's four partitions (16384 registers)
 * holds. RESIDENT: workgroups on a multiprocessor at once. */
#define REGISTERS                                                                                  \
    (TILE_M * TILE_N + TILE_M + TILE_N + (BLOCK_M + BLOCK_N) * BLOCK_K / THREADS + 32)
#define PARTITION_WAVES (512 / REGISTERS)
#define RESIDENT (PARTITION_WAVES * 128 / THREADS > 0 ? PARTITION_WAVES * 128 / THREADS : 1)

/* Four floats, loaded and stored at once where aligned to 16 bytes; on GPUs they must be. */
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

/* Unroll counts of loops over values in registers. Other loops are not unrolled, as this would only cost compile
 * time. */
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
/* Waits until at most `count` copied blocks of terms are still in flight. */
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

/* Coordinates of a work-item in the tile. A wave is four by eight work-items. Pairs of work-items share rows, other
 * pairs share columns: on NVIDIA such reads of 16 bytes from local memory take half the time. */
#define ITEM_M (ITEM / 32 % (THREADS_M / 4) * 4 + (ITEM & 1) + (ITEM >> 1 & 2))
#define ITEM_N (ITEM / 32 / (THREADS_M / 4) * 8 + (ITEM >> 1 & 1) + (ITEM >> 2 & 6))

/* The first row (column) of a work-item's square number `quad` of four by four sums. */
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

/* The elements that a work-item multiplies for one term: its rows of a and its columns of b. */
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

/* Stores four sums. With `quads` they go to neighbouring elements of c at once, or nowhere where the first is
 * missing (offset -1). Without, each goes to its own offset, except missing ones. The channels of an epilogue are
 * `channel`, channel + channel_step, ... */
DEVICE void simt_store_four(GLOBAL float *c, int other, LOCAL_POINTER const int *at, int quads,
                            struct quad sums, int channel, int channel_step EPILOGUE_PARAMETERS)
{
#ifdef EPILOGUE
#pragma unroll UNROLL_QUAD
    for (int i = 0; i < 4; i++) {
        int place = quads ? at[0] : at[i];
        if (place >= 0)
            sums.lane[i] = epilogue_value(sums.lane[i], channel + i * channel_step,
                                          other + place + (quads ? i : 0) EPILOGUE_ARGUMENTS);
    }
#endif
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

/* Stores a work-item's sums, each at the sum of its row's and its column's offset in c; a row or column with offset
 * -1 does not exist. C_BY_ROW is 1 where neighbouring rows are neighbours in c, 0 where neighbouring columns are.
 * `quads`: groups of four neighbours are aligned to 16 bytes, and each group exists as a whole or not at all. An
 * epilogue's channels count from the block's first row. */
DEVICE void simt_store(GLOBAL float *c, LOCAL_POINTER const int *rows,
                       LOCAL_POINTER const int *columns, int quads,
                       float (*sums)[TILE_N] EPILOGUE_PARAMETERS)
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
                simt_store_four(c, other, along + ALONG(q), quads, four,
                                C_BY_ROW ? SQUARE_ROW(q) : SQUARE_ROW(line / 4) + line % 4,
                                C_BY_ROW EPILOGUE_ARGUMENTS);
        }
    }
}

/* Values of simt_store()'s `quads` for c with twice as many rows and columns as there are sums: a zero follows each
 * sum, and two zeros are in the row below. QUADS_SPREAD: groups of four columns are complete and aligned to 16 bytes.
 * PAIRS_SPREAD: pairs of columns are aligned to 8 bytes. */
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

/* Stores sums like simt_store(), with zeros between them, into rows of `line` elements. */
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
