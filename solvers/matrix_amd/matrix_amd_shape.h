/*
 * How a config of the solvers of AMD's matrix units (conv_matrix_amd.c) divides a problem: the matrix product that it is,
 * the instruction of the target, and what a workgroup, a wave and a lane of kernels/device/matrix_amd/conv_matrix_amd.cl
 * come to. A chunk is 16 bytes, what one load brings.
 */
#ifndef SOLVERS_MATRIX_AMD_MATRIX_AMD_SHAPE_H
#define SOLVERS_MATRIX_AMD_MATRIX_AMD_SHAPE_H

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

#define MATRIX_AMD_CHUNK_BYTES 16
#define WMMA_SIZE              16 /* rows, columns and terms of WMMA's instructions */

/* The parameters of both solvers' spaces, in their order. */
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

/* Of an operand's element. */
int matrix_amd_element_bytes(const struct problem *p);
/* Elements of a chunk; and channels of a group, filled up to whole chunks. */
int matrix_amd_chunk(const struct problem *p);
int64_t matrix_amd_group_c(const struct problem *p);
int64_t matrix_amd_group_k(const struct problem *p);

/* Rows, columns and terms at each of `taps` filter positions; layers of the grid: groups, in W also filter
 * positions. Doubles: rows may exceed 32 bits. */
struct matrix_amd_product {
    double rows, columns, terms, taps, layers;
};
struct matrix_amd_product matrix_amd_product_of(const struct problem *p);

/* Blocks that hold so many; and workgroups of one part. */
int64_t matrix_amd_blocks(double count, int block);
double matrix_amd_workgroups(const struct problem *p, const int32_t *values);

/* Instructions that multiply UNIT by UNIT over UNIT_K terms. */
struct matrix_amd_unit {
    int wmma;        /* 0: MFMA; else which generation of RDNA, 11 or 12 */
    int wave;        /* lanes */
    int lane_groups; /* that hold different terms of one row */
    int terms;       /* UNIT_K */
};

/* The target's instruction for a type of operands and a UNIT; false where it has none. */
bool matrix_amd_find_unit(const struct target *target, enum data_type type, int unit,
                          struct matrix_amd_unit *found);

/* Instructions that a wave issues for a block of BLOCK_K terms: the main loop of the code object holds so many. */
int matrix_amd_instructions(const struct problem *p, const struct target *target,
                            const int32_t *values);

struct matrix_amd_shape {
    struct matrix_amd_unit unit;
    int waves, items;
    int row_chunks;       /* terms of a row in a block, in chunks */
    int step_chunks;      /* of a row that one round of instructions takes */
    int fragment_chunks;  /* that a lane holds of a row */
    int tiles_m, tiles_n; /* of a wave */
    int a_loads, b_loads; /* chunks that an item loads of each operand, a block of terms */
    int result_bytes;     /* an element's */
};
/* False where the target has no such instruction. */
bool matrix_amd_find_shape(const struct problem *p, const struct target *target,
                           const int32_t *values, struct matrix_amd_shape *shape);

/* Local memory of a workgroup: the blocks of terms, or the sums on their way out. */
int64_t matrix_amd_local_bytes(const struct matrix_amd_shape *shape, const int32_t *values);

/* Whether a lane has registers for so many sums and for what else it needs. MFMA's sums lie in accumulators: on
 * CDNA 1 a file of their own and as large, later the other half of one. */
bool matrix_amd_registers_suffice(const struct target *target, const struct matrix_amd_shape *shape,
                                  int sums, int others);

#endif
