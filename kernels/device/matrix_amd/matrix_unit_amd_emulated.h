/*
 * Emulates the instructions of matrix_unit_amd.h: each work-item writes its lane's elements to local memory,
 * and computes its own sums from the elements of its wave's lanes, by the documented layout. On a device
 * without the instruction this tests everything about a kernel but the instruction.
 */
#define UNIT_UNROLL
#define UNIT_SETTLE(sums)

struct unit_scratch {
    struct fragment a[TILES_M][ITEMS], b[TILES_N][ITEMS];
};
#define UNIT_SCRATCH LOCAL_ARRAY struct unit_scratch unit_scratch;

/* The start in bytes of term k of a row or column among the operands of one instruction: the lane's own 16 or 32
 * bytes, and `part` of them. On RDNA 3 two lanes must hold the same terms of a row, and its documents do not say
 * which of them the unit reads. The emulation reads both alternately, so that a kernel whose lanes differ gets a
 * wrong result. */
DEVICE int operand_at(int wave, int line, int part, int k)
{
#if LANE_GROUPS == 1
    int lane = line + k % 2 * UNIT, run = k;
#else
    int lane = line + k / (UNIT_K / LANE_GROUPS) * UNIT, run = k % (UNIT_K / LANE_GROUPS);
#endif
    return (wave * WAVE + lane) * FRAGMENT_CHUNKS * CHUNK_BYTES + part * OPERAND_BYTES +
           run * ELEMENT_BYTES;
}

/* The row of a lane's sum by AMD's documents, written for each family on its own: a mistake in the kernel's sum_row()
 * then gives a wrong result. */
DEVICE int documented_row(int e, int lane)
{
#if WMMA == 0 && UNIT == 32
    return 8 * (e / 4) + 4 * (lane / 32) + e % 4;
#elif WMMA == 0
    return 4 * (lane / 16) + e;
#elif WMMA == 11
    return 2 * e + lane / 16;
#else
    return 8 * (lane / 16) + e;
#endif
}

/* An element as the unit multiplies it. FP32 with UNIT * UNIT_K of 128 in the place of 64 is XF32: 13 bits of the fraction
 * are lost, here by cutting them off, which is the most that may be lost. */
#if ELEMENT_BYTES == 4 && UNIT * UNIT_K == 128
#define unit_element(type, fragments, at) unit_xf32(fragments, at)
DEVICE float unit_xf32(LOCAL_POINTER const struct fragment *fragments, int at)
{
    union float_bits number;
    number.value = ((LOCAL_POINTER const float *)fragments)[at / ELEMENT_BYTES];
    number.bits &= 0xffffe000u;
    return number.value;
}
#else
#define unit_element(type, fragments, at)                                                          \
    LOAD(type, (LOCAL_POINTER const STORAGE(type) *)(fragments), (at) / ELEMENT_BYTES)
#endif

#if !defined(TYPE_B)
#define TYPE_B TYPE
#endif

DEVICE SUM unit_product(LOCAL_POINTER const struct fragment *a,
                        LOCAL_POINTER const struct fragment *b, int wave, int row, int column,
                        int part)
{
    SUM sum = 0;
    for (int k = 0; k < UNIT_K; k++) {
        int at_a = operand_at(wave, row, part, k), at_b = operand_at(wave, column, part, k);
        sum += unit_element(TYPE, a, at_a) * unit_element(TYPE_B, b, at_b);
    }
    return sum;
}

#define MULTIPLY_FRAGMENTS(sums, a, b, item) multiply_fragments(sums, a, b, &unit_scratch, item)
DEVICE void multiply_fragments(unit_sums sums[TILES_M][TILES_N], const struct fragment a[TILES_M],
                               const struct fragment b[TILES_N],
                               LOCAL_POINTER struct unit_scratch *scratch, int item)
{
    const int wave = item / WAVE, lane = item % WAVE;
    for (int i = 0; i < TILES_M; i++)
        scratch->a[i][item] = a[i];
    for (int j = 0; j < TILES_N; j++)
        scratch->b[j][item] = b[j];
    BARRIER();
    for (int part = 0; part < OPERANDS; part++)
        for (int i = 0; i < TILES_M; i++)
            for (int j = 0; j < TILES_N; j++)
                for (int e = 0; e < UNIT_SUMS; e++)
                    sums[i][j][e] += unit_product(scratch->a[i], scratch->b[j], wave,
                                                  documented_row(e, lane), lane % UNIT, part);
    BARRIER();
}
