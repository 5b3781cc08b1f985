/*
 * Shared by solvers of NVIDIA's matrix units. Their kernels read packed NHWC or NDHWC tensors, and write such a tensor or a
 * part of a concatenation. Tensors have the channels of a group in chunks of 16 bytes, FP16, BF16 or (where the problem
 * permits it) FP32 in TF32, or forward INT8 with an INT32 result, FP8 and BF8 in any mixture; other layouts are copied first
 * (matrix_transform.h). Kernels for two dimensions also compute the problems of three that conv_flatten() makes flat; the
 * others have the option DEPTH. Here are the matrix product of a problem (kernels/device/matrix_nvidia/matrix_nhwc.h), the
 * choice of blocks and splits by estimated cycles, and the launches.
 */
#ifndef SOLVERS_MATRIX_NVIDIA_MATRIX_COMMON_H
#define SOLVERS_MATRIX_NVIDIA_MATRIX_COMMON_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"

/* bytes of an "element" as kernels count operands and terms, whatever the type: 16 bits, a pair of INT8, FP8 or BF8, or half
 * an FP32 */
#define MATRIX_ELEMENT_BYTES 2
#define MATRIX_SMALLEST      64 /* rows and columns of the smallest block */
/* bytes that W's table has for each output position of two blocks of terms */
#define MATRIX_PLACE_BYTES   16

/* The matrix product of a problem: rows, columns and terms of each product, terms in elements of 16 bits; layers, the
 * products in one grid: groups, in B times the phases of the stride. */
struct matrix_product {
    double rows, columns, terms, layers;
};
struct matrix_product matrix_product_of(const struct problem *p);

/* The instructions of a solver's kernels, which differ in TF32.
 *
 *   MATRIX_MMA    loads operands into registers, in any order of memory, and rounds them to the nearest. F, B and W.
 *   MATRIX_WGMMA  reads them from local memory, with terms innermost, and cuts them off. F and B; B's filter is copied
 *                 with k innermost. W's terms are positions, which neither operand has innermost. */
enum matrix_unit { MATRIX_MMA, MATRIX_WGMMA };

/* Whether the kernels serve the problem on a target that has their instructions; otherwise *reason says why not. */
bool matrix_serves(const struct problem *p, const struct context *context, enum matrix_unit unit,
                   const char **reason);

/* Channels of a group, rounded up to whole chunks: of x and w, and of y. */
int64_t matrix_c_of(const struct problem *p);
int64_t matrix_k_of(const struct problem *p);
/* Elements of 16 bits of so many channels, as kernels count those that an operand has innermost: channels of 8 bits go in
 * pairs, those of TF32 count twice. */
int64_t matrix_elements_of(const struct problem *p, int64_t channels);
/* Elements of 16 bits of a number that an operand does not have innermost: 2 in TF32. W's terms are such numbers. */
int matrix_number_elements(const struct problem *p);

/* How a config divides the product: rows, columns and terms (in elements of 16 bits) of a block, and split-K parts; and by
 * which instructions it is computed. */
struct matrix_blocks {
    int m, n, k, splits;
    enum matrix_unit unit;
};

/* Whether a block has at most twice the product's rows and columns; the smallest always passes. */
bool matrix_block_suits(const struct problem *p, const struct matrix_blocks *blocks);
/* Rough share of the time that is useful: neither work on what fills up blocks and channels nor copies to NHWC. */
double matrix_used_part(const struct problem *p, const struct matrix_blocks *blocks);
/* matrix_workgroups(): workgroups of one split-K part. matrix_steps(): blocks of terms of the longest part. */
double matrix_workgroups(const struct problem *p, const struct matrix_blocks *blocks);
double matrix_steps(const struct problem *p, const struct matrix_blocks *blocks);

/* Whether the number of split-K parts is valid: splitting is for products with too few workgroups for the
 * multiprocessors, or with more terms than FP32 can sum. */
bool matrix_splits_suit(const struct problem *p, const struct context *context,
                        const struct matrix_blocks *blocks);
int matrix_default_splits(const struct problem *p, const struct context *context,
                          const struct matrix_blocks *blocks);
/* The costs of a product on a target: workgroups of all parts, blocks of terms of each, cycles of a workgroup's start
 * and end without its stores, and bytes of parts to be added up. */
struct matrix_effort {
    double workgroups, steps, start, parts_bytes;
};
/* Estimated cycles of the slowest multiprocessor, with constants measured on an H100. */
double matrix_cycles(const struct context *context, const struct matrix_blocks *blocks,
                     const struct matrix_effort *effort);
/* Finds the candidate's best number of split-K parts. If its blocks suit and its estimated cycles are below *least,
 * *best and *least are set to it. Returns whether it did. */
bool matrix_choose(const struct problem *p, const struct context *context,
                   const struct matrix_blocks *candidate, struct matrix_blocks *best,
                   double *least);
/* Numbers of a split-K part: the result with channels rounded up to whole loads. */
double matrix_result_elements(const struct problem *p);
/* Bytes of the copies of tensors in the workspace. */
uint64_t matrix_copies_bytes(const struct problem *p, enum matrix_unit unit);
/* The workspace of the config that needs the most, among those with blocks of at most these sizes. */
uint64_t matrix_workspace_bytes(const struct problem *p, const struct context *context,
                                const struct matrix_blocks *largest);

/* Adds the options that all these kernels have to a launch that has its own, and sorts them. A launch that writes
 * split-K parts (splits > 1) does no epilogue. */
void matrix_add_options(const struct problem *p, enum matrix_unit unit, int splits,
                        struct launch *launch);
/* Adds the launches that copy tensors, sets the solution's work and says how TF32 rounds inputs
 * and that FP8's instructions cut off products. */
void matrix_add_copies(const struct problem *p, enum matrix_unit unit, struct solution *solution);
/* matrix_finish_launch() completes a launch that has its file and its own options: it adds the shared options, sorts
 * them, and adds all arguments and the grid. matrix_finish_solution() adds the launches that add up split-K parts, and
 * what matrix_add_copies() does. */
void matrix_finish_launch(const struct problem *p, const struct matrix_blocks *blocks, int items,
                          struct launch *launch);
void matrix_finish_solution(const struct problem *p, const struct matrix_blocks *blocks,
                            struct solution *solution);
/* Adds the two arguments by which a kernel divides numbers below 2^31 (struct divisor of matrix_nvidia.h). */
void matrix_add_divisor(struct launch *launch, int64_t by);

/* Numbers from one position of the result to the next, for a kernel of F or B that writes it, or (splits > 1) packed split-K
 * parts of it. */
int64_t matrix_pitch(const struct problem *p, int splits);
/* Adds the launch that adds up split-K parts, which are all that the workspace has so far. */
void matrix_add_parts_sum(const struct problem *p, int splits, struct solution *solution);

/* Defines the constraints splits_suit_target, stages_suit_terms (not more stages than blocks of terms) and
 * stages_fit_local_memory of a solver that has parameters STAGES and SPLITS, blocks_of(values) and local_bytes_of(p,
 * values). */
#define MATRIX_STAGE_CONSTRAINTS(least_stages)                                                     \
    static bool splits_suit_target(const struct problem *p, const struct context *context,         \
                                   const int32_t *values)                                          \
    {                                                                                              \
        const struct matrix_blocks blocks = blocks_of(values);                                     \
        return matrix_splits_suit(p, context, &blocks);                                            \
    }                                                                                              \
    static bool stages_suit_terms(const struct problem *p, const struct context *context,          \
                                  const int32_t *values)                                           \
    {                                                                                              \
        const struct matrix_blocks blocks = blocks_of(values);                                     \
        (void)context;                                                                             \
        return values[STAGES] == (least_stages) || values[STAGES] <= matrix_steps(p, &blocks);     \
    }                                                                                              \
    static bool stages_fit_local_memory(const struct problem *p, const struct context *context,    \
                                        const int32_t *values)                                     \
    {                                                                                              \
        return local_bytes_of(p, values) <= target_dynamic_local_bytes(context->target);           \
    }

#endif
