/*
 * Hopper's matrix units (wgmma, sm_90a): products with operands in local memory, which run while the next
 * blocks of terms are loaded. Operands are panels of lines of 128 bytes with chunks permuted by the unit's
 * 128-byte swizzle, which is also chunk_at()'s. The PTX manual's sections on wgmma describe the swizzle, the
 * descriptors and the lanes' elements. Operands of TF32 must have terms innermost, and numbers are cut off.
 * Sums of FP8 and BF8 lose bits from instruction to instruction, so begin_group() begins new ones.
 *
 * Defined before it is included: matrix_nhwc.h with a BLOCK_K of 64, one row of tiles for a work-item.
 */
#if LONG_NUMBERS && (A_BY_TERM || B_BY_TERM)
#error "the unit transposes operands of 16 bits alone"
#endif

/* LINES_STEP: bytes from a group of eight lines to the next. PANEL_STEP: bytes from panel to panel of an operand
 * whose BLOCK_K lines are terms. */
#define LINES_STEP  1024
#define PANEL_STEP  (BLOCK_K * 128)
#define PATTERN_128 1

/* Bytes in local memory from one instruction's terms (16 "elements") to the next instruction's. */
#define A_TERMS_STEP (A_BY_TERM ? 16 * 128 : 16 * 2)
#define B_TERMS_STEP (B_BY_TERM ? 16 * 128 : 16 * 2)

/* The descriptor by which a wgmma instruction addresses an operand in local memory. An operand with terms innermost
 * has one panel only. */
DEVICE u64 operand_at(unsigned place, int by_term)
{
    return (u64)(place >> 4 & 0x3fff) | (u64)(by_term ? PANEL_STEP >> 4 : 1) << 16 |
           (u64)(LINES_STEP >> 4) << 32 | (u64)PATTERN_128 << 62;
}

#if defined(MATRIX_EMULATED)

#define show_copies()
#define begin_products()
#define end_products()
#define AWAIT_PRODUCTS(count)
#define settle(sums)

/* Emulation: the element at a row (or column) and a term of an operand. Lines hold terms, or, by term, 64 rows of a
 * panel. */
DEVICE half_bits operand_element(LOCAL_POINTER unsigned char *memory, u64 operand, int by_term,
                                 int row, int term)
{
    unsigned start = (unsigned)(operand & 0x3fff) << 4;
    unsigned panel = (unsigned)(operand >> 16 & 0x3fff) << 4;
    unsigned lines = (unsigned)(operand >> 32 & 0x3fff) << 4;
    unsigned at = by_term
                      ? start + row / 64 * panel + term / 8 * lines + term % 8 * 128 + row % 64 * 2
                      : start + row / 8 * lines + row % 8 * 128 + term * 2;
    at ^= (at >> 7 & 7) << 4;
    return LOCAL_HALF(memory, at);
}

#if BYTE_FLOATS
/* An instruction's sum: `before`, and the products of a row and a column. */
DEVICE float sum_at(LOCAL_POINTER unsigned char *memory, float before, u64 a, u64 b, int row,
                    int column)
{
    float products[CUT_PRODUCTS];
    LOOP for (int term = 0; term < CUT_PRODUCTS; term++)
    {
        half_bits a_pair = operand_element(memory, a, 0, row, term / 2);
        half_bits b_pair = operand_element(memory, b, 0, column, term / 2);
        products[term] = LOAD(TYPE, (const unsigned char *)&a_pair, term % 2) *
                         LOAD(TYPE_B, (const unsigned char *)&b_pair, term % 2);
    }
    return cut_sum(before, products);
}
#else
/* The product of a term of a row and of a column. */
DEVICE LANE product_at(LOCAL_POINTER unsigned char *memory, u64 a, u64 b, int row, int column,
                       int term)
{
#if LONG_NUMBERS
    half_bits halves[4];
    LOOP for (int i = 0; i < 2; i++)
    {
        halves[i] = operand_element(memory, a, A_BY_TERM, row, 2 * term + i);
        halves[2 + i] = operand_element(memory, b, B_BY_TERM, column, 2 * term + i);
    }
    return cut_number(halves[0] | (unsigned)halves[1] << 16) *
           cut_number(halves[2] | (unsigned)halves[3] << 16);
#else
    return product_of(operand_element(memory, a, A_BY_TERM, row, term),
                      operand_element(memory, b, B_BY_TERM, column, term));
#endif
}

DEVICE LANE sum_at(LOCAL_POINTER unsigned char *memory, LANE before, u64 a, u64 b, int row,
                   int column)
{
    LOOP for (int term = 0; term < 16 / WIDTH; term++) before +=
        product_at(memory, a, b, row, column, term);
    return before;
}
#endif

DEVICE void multiply_group(LOCAL_POINTER unsigned char *memory, LANE sums[TILES_N][4], u64 a, u64 b,
                           int item)
{
    int row = item % 128 / 32 * 16 + item % 32 / 4, column = item % 4 * 2;
    LOOP for (int j = 0; j < TILES_N; j++) LOOP for (int e = 0; e < 4; e++) sums[j][e] =
        sum_at(memory, sums[j][e], a, b, row + e / 2 * 8, j * 8 + column + e % 2);
}

#if BYTE_FLOATS
DEVICE void begin_group(LOCAL_POINTER unsigned char *memory, LANE sums[TILES_N][4], u64 a, u64 b,
                        int item)
{
    LOOP for (int j = 0; j < TILES_N; j++) LOOP for (int e = 0; e < 4; e++) sums[j][e] = 0;
    multiply_group(memory, sums, a, b, item);
}
#endif

#else

/* Call between copies into local memory and products that read them: matrix units read local memory by another path.
 * */
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

#define AWAIT_PRODUCTS(count)                                                                      \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

#define STRING_OF(text) #text
#define STRING(text)    STRING_OF(text)
/* clang-format off */
#if BLOCK_N == 64
#define SUMS_TEXT \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define OPERANDS_TEXT "%32, %33, "
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
#define OPERANDS_TEXT "%64, %65, "
#define SUMS(S) \
    S(0), S(1), S(2), S(3), S(4), S(5), S(6), S(7), \
    S(8), S(9), S(10), S(11), S(12), S(13), S(14), S(15), \
    S(16), S(17), S(18), S(19), S(20), S(21), S(22), S(23), \
    S(24), S(25), S(26), S(27), S(28), S(29), S(30), S(31), \
    S(32), S(33), S(34), S(35), S(36), S(37), S(38), S(39), \
    S(40), S(41), S(42), S(43), S(44), S(45), S(46), S(47), \
    S(48), S(49), S(50), S(51), S(52), S(53), S(54), S(55), \
    S(56), S(57), S(58), S(59), S(60), S(61), S(62), S(63)
#elif BLOCK_N == 192
#define SUMS_TEXT \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define OPERANDS_TEXT "%96, %97, "
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
    S(88), S(89), S(90), S(91), S(92), S(93), S(94), S(95)
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
#define OPERANDS_TEXT "%128, %129, "
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
#define SUM(i)          SUM_REGISTER(sums[(i) / 4][(i) % 4])
/* The instruction's text behind its operands: the signs of floats, and the order of operands of 16 bits. */
#define TURNS_TEXT      ", 1, 1, " STRING(A_BY_TERM) ", " STRING(B_BY_TERM) ";"
#define ORDERS_FP16     TURNS_TEXT
#define ORDERS_BF16     TURNS_TEXT
#define ORDERS_INT8     ";"
#define ORDERS_TF32     ", 1, 1;"
#define ORDERS_FP8      ", 1, 1;"
#define ORDERS_BF8      ", 1, 1;"
#define ORDERS_TEXT     DIALECT_JOIN(ORDERS_, TYPE)
#define SHAPE_TEXT      "m64n" STRING(BLOCK_N) TYPE_TERMS
/* adds: "1" to add to the sums, "0" to begin at zero. */
#define PRODUCT_TEXT(adds)                                                                         \
    "wgmma.mma_async.sync.aligned." SHAPE_TEXT "." TYPE_SUMS "." DIALECT_JOIN(                     \
        TEXT_, TYPE) "." DIALECT_JOIN(TEXT_, TYPE_B) " {" SUMS_TEXT                                \
                                                     "}, " OPERANDS_TEXT adds ORDERS_TEXT

/* Multiplies 64 rows by BLOCK_N columns by 16 "elements" of terms. */
DEVICE void multiply_group(const unsigned char *memory, LANE sums[TILES_N][4], u64 a, u64 b,
                           int item)
{
    (void)memory;
    (void)item;
    asm volatile(PRODUCT_TEXT("1") : SUMS(SUM) : "l"(a), "l"(b));
}

#if BYTE_FLOATS
/* multiply_group() with sums that begin at zero. */
#define NEW_SUM(i) "=f"(sums[(i) / 4][(i) % 4])
DEVICE void begin_group(const unsigned char *memory, LANE sums[TILES_N][4], u64 a, u64 b, int item)
{
    (void)memory;
    (void)item;
    asm volatile(PRODUCT_TEXT("0") : SUMS(NEW_SUM) : "l"(a), "l"(b));
}
#endif

/* Keeps the compiler from using sums before this point: matrix instructions write them without its knowledge. */
DEVICE void settle(LANE sums[TILES_N][4])
{
    asm volatile("" : SUMS(SUM) : : "memory");
}

#endif
