/*
 * What the solvers of AMD's matrix units have in common (conv_mfma.c, conv_wmma.c): one kernel, one space,
 * and what differs between the instructions. F, B and W of 2D, all tensors packed, NHWC or NCHW; FP32, FP16 and
 * BF16, all tensors alike, and INT8 to INT32 in F; groups, stride, dilation, any padding. Dynamic. What is
 * not NHWC with the channels of a group in whole chunks of 16 bytes is moved first (matrix_transform.h). W
 * may split its long sums (SPLITS), whose parts then lie in the workspace.
 */
#ifndef SOLVERS_MATRIX_AMD_MATRIX_AMD_H
#define SOLVERS_MATRIX_AMD_MATRIX_AMD_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"
#include "solvers/matrix_amd/matrix_amd_shape.h"

extern const char *const matrix_amd_sources[];
extern const struct space matrix_mfma_space, matrix_wmma_space;

/* Beside whether the target has the instructions, which is for the solver to say. */
bool matrix_amd_serves(const struct problem *p, const char **reason);
/* The first of the configs that suits, in the order of preference; the last one always does. */
void matrix_amd_default(const struct problem *p, const struct context *context,
                        const int32_t (*configs)[MATRIX_AMD_PARAMS], int count,
                        struct perf_config *config);
uint64_t matrix_amd_workspace_bytes(const struct problem *p, const struct context *context);
/* The share of the default's blocks that is there. */
double matrix_amd_used_part(const struct problem *p, const struct perf_config *config);
bool matrix_amd_solve(const struct problem *p, const struct context *context,
                      const struct perf_config *config, struct solution *solution, GError **error);

#endif
