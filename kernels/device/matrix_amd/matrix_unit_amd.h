/*
 * AMD's matrix units: an instruction of a wave multiplies UNIT rows by UNIT columns over UNIT_K terms. The
 * elements of each lane, for each family, follow AMD's matrix instruction calculator and its instruction set
 * documents (CDNA 1 to 3; RDNA 3 and 4, section "WMMA"):
 *
 *   operand a   lane l has row l % UNIT, operand b column l % UNIT; of the terms it has a run:
 *               with LANE_GROUPS groups of lanes the run l / UNIT of UNIT_K / LANE_GROUPS terms.
 *               RDNA 3 (WMMA 11) has one group: both halves of the wave hold the same.
 *   sums        lane l has column l % UNIT; the row of its sum e is sum_row(e, l)
 *
 * A chunk is 16 bytes. A lane's fragment is one chunk of terms, enough for OPERANDS instructions, or the two
 * chunks that one instruction of RDNA 3 takes. A step is the fragments of all groups. The order of a step's
 * terms may be any, as long as it is the same in both operands.
 *
 * Defined before it is included: TYPE, the type of operand a; for FP8 and BF8 also TYPE_B, the type of operand b, which
 * may be the other of the two, and TYPE_RESULT; UNIT, UNIT_K, WMMA (0 for MFMA, 11 or 12), ITEMS of a workgroup, TILES_M
 * and TILES_N, the tiles of UNIT rows and columns that a wave computes. With MATRIX_EMULATED the instructions
 * are computed in OpenCL C from the lanes' elements on any device, so that everything but the instruction
 * itself can be tested.
 */
#define BYTES_FP32    4
#define BYTES_FP16    2
#define BYTES_BF16    2
#define BYTES_INT8    1
#define BYTES_FP8     1
#define BYTES_BF8     1
#define ELEMENT_BYTES DIALECT_JOIN(BYTES_, TYPE)

#define IS_INTEGER_FP32 0
#define IS_INTEGER_FP16 0
#define IS_INTEGER_BF16 0
#define IS_INTEGER_INT8 1
#define IS_INTEGER_FP8  0
#define IS_INTEGER_BF8  0

/* The result's type: TYPE_RESULT for FP8 and BF8; for INT8 INT32, or with an epilogue TYPE_Y; else TYPE. */
#if DIALECT_JOIN(IS_INTEGER_, TYPE)
#define SUM int
#else
#define SUM float
#endif
#if defined(TYPE_RESULT)
#define RESULT_TYPE TYPE_RESULT
#elif defined(TYPE_Y)
#define RESULT_TYPE TYPE_Y
#elif DIALECT_JOIN(IS_INTEGER_, TYPE)
#define RESULT_TYPE INT32
#else
#define RESULT_TYPE TYPE
#endif

#if WMMA == 0
#define WAVE 64
#else
#define WAVE 32
#endif
#if WMMA == 11
#define LANE_GROUPS 1
#else
#define LANE_GROUPS (WAVE / UNIT)
#endif

#define CHUNK_BYTES     16
#define UNIT_SUMS       (UNIT * UNIT / WAVE)
#define OPERAND_BYTES   (UNIT_K * ELEMENT_BYTES / LANE_GROUPS)
#define FRAGMENT_CHUNKS (OPERAND_BYTES > CHUNK_BYTES ? OPERAND_BYTES / CHUNK_BYTES : 1)
#define OPERANDS        (FRAGMENT_CHUNKS * CHUNK_BYTES / OPERAND_BYTES)
#define STEP_CHUNKS     (LANE_GROUPS * FRAGMENT_CHUNKS)

typedef unsigned chunk __attribute__((ext_vector_type(4)));
#if defined(MATRIX_EMULATED)
typedef SUM unit_sums[UNIT_SUMS];
#else
typedef SUM unit_sums __attribute__((ext_vector_type(UNIT_SUMS)));
#endif

struct fragment {
    chunk chunks[FRAGMENT_CHUNKS];
};

DEVICE int sum_row(int e, int lane)
{
#if WMMA == 0
    /* The row of sum e of a lane: groups of lanes alternate in runs of four rows. */
    return e / 4 * (4 * LANE_GROUPS) + lane / UNIT * 4 + e % 4;
#elif WMMA == 11
    return 2 * e + lane / UNIT;
#else
    return lane / UNIT * UNIT_SUMS + e;
#endif
}

#if defined(MATRIX_EMULATED)
#include "matrix_unit_amd_emulated.h"
#else

#if WMMA == 0
#include "matrix_unit_mfma.h"
#else
#include "matrix_unit_wmma.h"
#endif

#define UNIT_UNROLL _Pragma("unroll")

/* Waits until the sums are computed. Otherwise the compiler moves RDNA's matrix instructions behind the next barrier
 * and stores, and keeps all fragments in registers until then. */
#define UNIT_SETTLE(sums) settle(sums)
DEVICE void settle(unit_sums sums[TILES_M][TILES_N])
{
#if WMMA != 0
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
            asm volatile("" : "+v"(sums[i][j]));
#else
    (void)sums;
#endif
}
#define UNIT_SCRATCH

union operands {
    struct fragment whole;
    OPERAND parts[OPERANDS];
};

/* Adds a step's products to the sums of TILES_M by TILES_N tiles. */
#define MULTIPLY_FRAGMENTS(sums, a, b, item) multiply_fragments(sums, a, b)
DEVICE void multiply_fragments(unit_sums sums[TILES_M][TILES_N], const struct fragment a[TILES_M],
                               const struct fragment b[TILES_N])
{
#pragma unroll
    for (int part = 0; part < OPERANDS; part++)
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int j = 0; j < TILES_N; j++) {
                union operands row, column;
                row.whole = a[i];
                column.whole = b[j];
                sums[i][j] = UNIT_MULTIPLY(row.parts[part], column.parts[part], sums[i][j]);
            }
}
#endif
