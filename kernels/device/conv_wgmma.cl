/*
 * Convolutions forward as matrix products on Hopper's matrix units (sm_90a): m rows, positions of y, by n
 * columns, k, summed over filter positions and channels, which lie innermost (NHWC).
 *
 * As conv_matrix.cl, but four warps together compute 64 by BLOCK_N sums, by products that read both operands from
 * local memory by themselves and go on while the next blocks of terms are being fetched (wgmma). A
 * line there has 64 terms, 128 bytes, whose chunks change places as that unit's 128-byte
 * pattern wants it. Of STAGES blocks one is multiplied, one may be still, and the others are on their way.
 *
 * Options: TYPE (FP16 or BF16), BLOCK_M (64 a group of four warps), BLOCK_N (64, 128 or 256), STAGES.
 */
#include "dialect.h"

#define DIRECTION_F 1
#define SPLIT       0
#define BLOCK_K     64
#define GROUPS      (BLOCK_M / 64)
#define ITEMS       (128 * GROUPS)
#define WARP_M      16
#define WARP_N      BLOCK_N
#define TILES_M     1
#define TILES_N     (BLOCK_N / 8)

#include "matrix_nhwc.h"

/* ---- the machine's instructions ---- */

/* Where an operand's lines lie: 1024 bytes from eight lines to the next, in the 128-byte pattern. */
#define LINES_STEP  (1024 >> 4)
#define PATTERN_128 1

DEVICE unsigned long long place_in_local(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)1 << 16 |
           (unsigned long long)LINES_STEP << 32 | (unsigned long long)PATTERN_128 << 62;
}

/* What was copied is seen by the matrix units, which read beside the usual path. */
DEVICE void show_copies(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEVICE void begin_products(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void end_products(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define AWAIT_PRODUCTS(count) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

/* clang-format off */
#if BLOCK_N == 64
#define SUMS_TEXT \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define OPERANDS_TEXT "%32, %33, 1, 1, 1, 0, 0;"
#define SUMS(S) \
    S(0), S(1), S(2), S(3), S(4), S(5), S(6), S(7), \
    S(8), S(9), S(10), S(11), S(12), S(13), S(14), S(15), \
    S(16), S(17), S(18), S(19), S(20), S(21), S(22), S(23), \
    S(24), S(25), S(26), S(27), S(28), S(29), S(30), S(31)
#elif BLOCK_N == 128
#define SUMS_TEXT \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define OPERANDS_TEXT "%64, %65, 1, 1, 1, 0, 0;"
#define SUMS(S) \
    S(0), S(1), S(2), S(3), S(4), S(5), S(6), S(7), \
    S(8), S(9), S(10), S(11), S(12), S(13), S(14), S(15), \
    S(16), S(17), S(18), S(19), S(20), S(21), S(22), S(23), \
    S(24), S(25), S(26), S(27), S(28), S(29), S(30), S(31), \
    S(32), S(33), S(34), S(35), S(36), S(37), S(38), S(39), \
    S(40), S(41), S(42), S(43), S(44), S(45), S(46), S(47), \
    S(48), S(49), S(50), S(51), S(52), S(53), S(54), S(55), \
    S(56), S(57), S(58), S(59), S(60), S(61), S(62), S(63)
#elif BLOCK_N == 256
#define SUMS_TEXT \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define OPERANDS_TEXT "%128, %129, 1, 1, 1, 0, 0;"
#define SUMS(S) \
    S(0), S(1), S(2), S(3), S(4), S(5), S(6), S(7), \
    S(8), S(9), S(10), S(11), S(12), S(13), S(14), S(15), \
    S(16), S(17), S(18), S(19), S(20), S(21), S(22), S(23), \
    S(24), S(25), S(26), S(27), S(28), S(29), S(30), S(31), \
    S(32), S(33), S(34), S(35), S(36), S(37), S(38), S(39), \
    S(40), S(41), S(42), S(43), S(44), S(45), S(46), S(47), \
    S(48), S(49), S(50), S(51), S(52), S(53), S(54), S(55), \
    S(56), S(57), S(58), S(59), S(60), S(61), S(62), S(63), \
    S(64), S(65), S(66), S(67), S(68), S(69), S(70), S(71), \
    S(72), S(73), S(74), S(75), S(76), S(77), S(78), S(79), \
    S(80), S(81), S(82), S(83), S(84), S(85), S(86), S(87), \
    S(88), S(89), S(90), S(91), S(92), S(93), S(94), S(95), \
    S(96), S(97), S(98), S(99), S(100), S(101), S(102), S(103), \
    S(104), S(105), S(106), S(107), S(108), S(109), S(110), S(111), \
    S(112), S(113), S(114), S(115), S(116), S(117), S(118), S(119), \
    S(120), S(121), S(122), S(123), S(124), S(125), S(126), S(127)
#endif
/* clang-format on */
#define SUM(i) "+f"(sums[(i) / 4][(i) % 4])
#define STRING_OF(text) #text
#define STRING(text) STRING_OF(text)
#define PRODUCT_TEXT(type)                                                                         \
    "wgmma.mma_async.sync.aligned.m64n" STRING(BLOCK_N) "k16.f32." type "." type " {" SUMS_TEXT "}, " OPERANDS_TEXT

/* 64 rows by BLOCK_N columns by 16 terms. */
DEVICE void multiply(float sums[TILES_N][4], unsigned long long a, unsigned long long b)
{
    asm volatile(TYPE_TEXT(PRODUCT_TEXT) : SUMS(SUM) : "l"(a), "l"(b));
}

/* What is done with the sums stays behind this: products write them without the compiler's knowledge. */
DEVICE void settle(float sums[TILES_N][4])
{
    asm volatile("" : SUMS(SUM) : : "memory");
}

/* ---- the product ---- */

KERNEL(ITEMS, 1, 1)
conv_wgmma(GLOBAL const half_bits *RESTRICT x, GLOBAL const half_bits *RESTRICT w,
           GLOBAL half_bits *RESTRICT y, int n, int c, int k, int groups, int in_h, int in_w,
           int out_h, int out_w, int fil_h, int fil_w, int pad_h, int pad_w, int stride_h,
           int stride_w, int dilation_h, int dilation_w)
{
    const struct sizes sizes = {n,     c,     k,     groups, in_h,     in_w,     out_h,      out_w,
                                fil_h, fil_w, pad_h, pad_w,  stride_h, stride_w, dilation_h, dilation_w};
    const struct sizes *s = &sizes;
    struct step step = {0, 0, 0};
    float sums[1][TILES_N][4];
    struct rows rows;
    const int item = LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int first_row = GROUP_ID(0) * BLOCK_M, first_column = GROUP_ID(1) * BLOCK_N;
    const int group = GROUP_ID(2), row_count = n * out_h * out_w;
    const int steps = fil_h * fil_w * ((c + BLOCK_K - 1) / BLOCK_K);
    const unsigned local = local_address(local_memory);

    find_rows(&rows, s, first_row, row_count, item);
    x += (i64)group * c;
    w += (i64)group * k * fil_h * fil_w * c;
#pragma unroll
    for (int j = 0; j < TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sums[0][j][e] = 0;

#define LOAD_STAGE(stage)                                                                          \
    do {                                                                                           \
        unsigned to = local + (stage) * STAGE_BYTES;                                               \
        load_rows(to, x, &rows, s, &step, item);                                                   \
        load_filter(to + A_BYTES, w, s, &step, first_column, item);                                \
        advance(&step, s);                                                                         \
    } while (0)

#pragma unroll
    for (int stage = 0; stage < STAGES - 2; stage++) {
        if (stage < steps)
            LOAD_STAGE(stage);
        end_stage();
    }
    for (int at = 0; at < steps; at++) {
        unsigned tile = local + at % STAGES * STAGE_BYTES;
        unsigned long long a = place_in_local(tile + warp / 4 * 64 * BLOCK_K * 2);
        unsigned long long b = place_in_local(tile + A_BYTES);
        AWAIT_STAGES(STAGES - 3);
        show_copies();
        AWAIT_PRODUCTS(1);
        BARRIER();
        begin_products();
#pragma unroll
        for (int term = 0; term < BLOCK_K; term += 16)
            multiply(sums[0], a + (term * 2 >> 4), b + (term * 2 >> 4));
        end_products();
        if (at + STAGES - 2 < steps)
            LOAD_STAGE((at + STAGES - 2) % STAGES);
        end_stage();
    }
    AWAIT_PRODUCTS(0);
    settle(sums[0]);
    AWAIT_STAGES(0);
    BARRIER();
    stage_sums(local_memory, sums, warp, 0, lane);
    BARRIER();
    store_rows(y + (i64)group * k, local_memory, first_row, row_count, first_column, k,
               (i64)groups * k, item);
}
