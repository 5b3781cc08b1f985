/*
 * How a config of ConvMfma and ConvWmma (conv_matrix_amd.c) divides a problem: the matrix product, the target's
 * instruction, and the shares of a workgroup, a wave and a lane in
 * kernels/device/matrix_amd/conv_matrix_amd.cl. A chunk is 16 bytes, which one load instruction moves.
 */
#ifndef SOLVERS_MATRIX_AMD_MATRIX_AMD_SHAPE_H
#define SOLVERS_MATRIX_AMD_MATRIX_AMD_SHAPE_H

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

#define MATRIX_AMD_CHUNK_BYTES 16
#define WMMA_SIZE              16 /* rows, columns and terms of a WMMA instruction */

/* The indices of a config's parameters, the same for ConvMfma and ConvWmma. */
enum matrix_amd_param {
    MATRIX_AMD_BLOCK_M,
    MATRIX_AMD_BLOCK_N,
    MATRIX_AMD_WAVE_M,
    MATRIX_AMD_WAVE_N,
    MATRIX_AMD_UNIT,
    MATRIX_AMD_BLOCK_K,
    MATRIX_AMD_BUFFERS,
    MATRIX_AMD_SPLITS,
    MATRIX_AMD_PARAMS
};

/* The type of operand a: x in F, else y. Operand b has the same, or both are FP8 or BF8. */
enum data_type matrix_amd_operand_type(const struct problem *p);
/* Bytes of an operand's element. */
int matrix_amd_element_bytes(const struct problem *p);
/* matrix_amd_chunk(): elements of a chunk of 16 bytes. The others: a group's c and k rounded up to whole chunks. */
int matrix_amd_chunk(const struct problem *p);
int64_t matrix_amd_group_c(const struct problem *p);
int64_t matrix_amd_group_k(const struct problem *p);

/* The matrix product of a problem: rows and columns, terms at each of `taps` filter positions, and layers, the
 * products in one grid: groups, in W times filter positions. Doubles: rows may exceed 32 bits. */
struct matrix_amd_product {
    double rows, columns, terms, taps, layers;
};
struct matrix_amd_product matrix_amd_product_of(const struct problem *p);

/* matrix_amd_blocks(): blocks that cover `count` rows or columns. matrix_amd_workgroups(): workgroups of one split-K
 * part. */
int64_t matrix_amd_blocks(double count, int block);
double matrix_amd_workgroups(const struct problem *p, const int32_t *values);

/* An instruction that multiplies UNIT rows by UNIT columns over UNIT_K terms. */
struct matrix_amd_unit {
    int wmma;        /* 0 for MFMA, else the generation of RDNA: 11 or 12 */
    int wave;        /* lanes of a wave */
    int lane_groups; /* groups of lanes that hold different terms of the same row */
    int terms;       /* UNIT_K */
};

/* Finds the target's instruction for the type of operand a and a UNIT; false where it has none. */
bool matrix_amd_find_unit(const struct target *target, enum data_type type, int unit,
                          struct matrix_amd_unit *found);

/* Whether the target computes the problem in XF32, AMD's TF32: gfx942 has instructions for it, which do twice the terms of
 * those for FP32. */
bool matrix_amd_is_xf32(const struct problem *p, const struct target *target);

/* Matrix instructions of a wave for one block of BLOCK_K terms; the main loop of the compiled code must have this
 * number. */
int matrix_amd_instructions(const struct problem *p, const struct target *target,
                            const int32_t *values);

struct matrix_amd_shape {
    struct matrix_amd_unit unit;
    int waves, items;
    int row_chunks;       /* chunks of 16 bytes that a row has in one block of terms */
    int step_chunks;      /* chunks of a row that one step of matrix instructions multiplies */
    int fragment_chunks;  /* chunks of a row that one lane holds in a step */
    int tiles_m, tiles_n; /* tiles of a wave */
    int a_loads, b_loads; /* chunks of each operand that a work-item loads for a block of terms */
    int result_bytes;     /* bytes of a result's element */
};
/* Sets *shape to the config's shares. False where the target lacks the instruction. */
bool matrix_amd_find_shape(const struct problem *p, const struct target *target,
                           const int32_t *values, struct matrix_amd_shape *shape);

/* Bytes of local memory of a workgroup: the larger of the blocks of terms and the sums on their way to memory. */
int64_t matrix_amd_local_bytes(const struct matrix_amd_shape *shape, const int32_t *values);

/* Whether a lane has registers for the config's sums and other values. MFMA's sums are in accumulation registers: on
 * CDNA 1 a register file of their own, later the other half of one file. */
bool matrix_amd_registers_suffice(const struct target *target, const struct matrix_amd_shape *shape,
                                  int sums, int others);

#endif
