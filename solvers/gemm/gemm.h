/*
 * A launch of kernels/device/gemm/gemm.cl: C = A B, where each operand is a tensor or a slice of the workspace.
 * Rows (m), columns (n) and terms (k) are each made of up to four axes of a tensor, so that tensors are
 * multiplied without copying them into matrices.
 */
#ifndef SOLVERS_GEMM_GEMM_H
#define SOLVERS_GEMM_GEMM_H

#include "solvers/common/tile_space.h"
#include "solvers/framework/solution.h"

struct gemm_operand {
    bool in_workspace;
    enum tensor_role tensor; /* the tensor, for an operand that is not in the workspace */
    uint64_t offset;         /* the operand's offset in bytes, for an operand in the workspace */
    enum data_type type;
};

/* A step along an axis: `times` strides of the operand's logical axis (N C D H W), or `times` elements for
 * GEMM_ELEMENTS. */
#define GEMM_ELEMENTS (-1)
struct gemm_step {
    int axis;
    int64_t times;
};

/* One axis of rows, columns or terms with its steps in the two operands that have it: a and c for rows, b and c
 * for columns, a and b for terms. */
struct gemm_axis {
    int64_t count;
    struct gemm_step steps[2];
};

#define GEMM_AXES 4

struct gemm {
    const struct problem *problem;
    struct gemm_operand a, b, c;
    /* axes of rows, columns and terms; the last axis runs fastest */
    struct gemm_axis m[GEMM_AXES], n[GEMM_AXES], k[GEMM_AXES];
    struct {
        int64_t count;
        struct gemm_step a, b, c;
    } batch[2];
    int splits;         /* number of split-K parts of the terms, 1 for a sum that is not split */
    int64_t part;       /* terms of a part */
    int64_t split_step; /* elements of c from one part's results to the next part's */
    /* c is the problem's output, rows are channels of a group, batch[1] is the groups: the problem's epilogue is done */
    bool finishes;
};

/* Initialises a product: all counts 1, all operands FP32 tensors, the sum not split. */
void gemm_init(struct gemm *gemm, const struct problem *p);
void gemm_tensor(const struct gemm *gemm, struct gemm_operand *operand, enum tensor_role role);
void gemm_workspace(struct gemm_operand *operand, uint64_t offset_bytes, enum data_type type);
/* Sets an axis: its count, and its step in each of the two operands that have the axis. A step is a multiple of a
 * tensor's stride, or in elements. */
void gemm_set_axis(struct gemm_axis *axis, int64_t count, struct gemm_step first,
                   struct gemm_step second);

/* Appends the launch. `values` begin with the tile's parameters. All counts must fit 31 bits
 * (conv_counts_fit_32_bits()). */
void gemm_add_launch(const struct gemm *gemm, const struct context *context, const int32_t *values,
                     struct solution *solution);

/* Whether every GPU takes the grid of `layers` products of m rows with the wide blocks that tile_default_config()
 * falls back to (second and third axis hold 65535 workgroups each), and whether the size of split-K parts fits 64
 * bits. Parts add workgroups along the third axis; tile_may_split() checks these. Otherwise *reason says so. */
bool gemm_grid_fits(const struct problem *p, double m, double layers, const char **reason);

#endif
