/*
 * A launch of kernels/device/gemm/gemm.cl: C = A B where each operand is a tensor or
 * a part of the workspace, and where rows (m), columns (n) and terms (k) are
 * each spread over up to four axes, so that nothing has to be copied to make a
 * matrix of it.
 */
#ifndef SOLVERS_GEMM_GEMM_H
#define SOLVERS_GEMM_GEMM_H

#include "solvers/common/tile_space.h"
#include "solvers/framework/solution.h"

struct gemm_operand {
    bool in_workspace;
    enum tensor_role tensor; /* where it is none of the workspace */
    uint64_t offset;         /* bytes into the workspace */
    enum data_type type;
};

/* How far a step along an axis goes: `times` strides of the operand's logical axis (N C D H W), or
 * `times` elements for GEMM_ELEMENTS. */
#define GEMM_ELEMENTS (-1)
struct gemm_step {
    int axis;
    int64_t times;
};

/* One of the axes that a dimension is spread over, and its steps in the two operands that have the
 * dimension: a and c for rows, b and c for columns, a and b for terms and likewise. */
struct gemm_axis {
    int64_t count;
    struct gemm_step steps[2];
};

#define GEMM_AXES 4

struct gemm {
    const struct problem *problem;
    struct gemm_operand a, b, c;
    struct gemm_axis m[GEMM_AXES], n[GEMM_AXES], k[GEMM_AXES]; /* the last runs fastest */
    struct {
        int64_t count;
        struct gemm_step a, b, c;
    } batch[2];
    int splits;         /* parts of the terms (tile_split_terms()), from 1 */
    int64_t part;       /* terms a part */
    int64_t split_step; /* elements of c between the parts' results */
};

/* All counts 1, FP32 tensors, one part. */
void gemm_init(struct gemm *gemm, const struct problem *p);
void gemm_tensor(const struct gemm *gemm, struct gemm_operand *operand, enum tensor_role role);
void gemm_workspace(struct gemm_operand *operand, uint64_t offset_bytes, enum data_type type);
/* Sets one axis: of a tensor (axis N C D H W) or in elements. */
void gemm_set_axis(struct gemm_axis *axis, int64_t count, struct gemm_step first,
                   struct gemm_step second);

/* Appends the launch; values are a config that begins with the tile's parameters. Everything that
 * the counts say fits 31 bits (conv_counts_fit_32_bits()). */
void gemm_add_launch(const struct gemm *gemm, const struct context *context, const int32_t *values,
                     struct solution *solution);

/* Whether m rows in that many layers of the grid are what every GPU's grid takes with the widest blocks
 * (its second and third axis hold 65535 workgroups; tile_may_split() sees to splits, whose parts are
 * layers too), and whether these parts have a size in 64 bits. Otherwise *reason says so.
 */
bool gemm_grid_fits(const struct problem *p, double m, double layers, const char **reason);

#endif
