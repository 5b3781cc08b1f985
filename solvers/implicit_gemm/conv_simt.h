/*
 * ConvSimt's perf config, shared by conv_simt.c (the row) and conv_simt_space.c (the space).
 */
#ifndef SOLVERS_IMPLICIT_GEMM_CONV_SIMT_H
#define SOLVERS_IMPLICIT_GEMM_CONV_SIMT_H

#include "solvers/framework/space.h"
#include "solvers/implicit_gemm/simt_common.h"
#include "solvers/implicit_gemm/simt_operands.h"

/* The parameters, in order. */
enum {
    SIMT_BLOCK_M,
    SIMT_BLOCK_N,
    SIMT_TILE_M,
    SIMT_TILE_N,
    SIMT_BLOCK_K,
    SIMT_LOAD_A,
    SIMT_LOAD_B,
    SIMT_ASYNC,
    SIMT_STAGES,
    SIMT_SPLITS,
    SIMT_PARAM_COUNT
};

/* The most workgroups along a grid's third axis on every GPU. */
#define SIMT_GRID_MOST 65535

extern const struct space conv_simt_space;

void conv_simt_default_config(const struct problem *p, const struct context *context,
                              struct perf_config *config);
/* The most that any config takes. */
uint64_t conv_simt_workspace_bytes(const struct problem *p, const struct context *context);

/* Whether every block of the space gives a grid that GPUs take. */
bool conv_simt_fits_grid(const struct problem *p, const struct context *context);
/* The block of a whole config, with the way its operands are loaded. */
struct simt_block conv_simt_block(const struct problem *p, const int32_t *values);
/* Work-items of a workgroup; workgroups of a part. Both depend on a config's first four values only. */
int conv_simt_items(const int32_t *values);
double conv_simt_workgroups(const struct tile_product *product, const int32_t *values);

#endif
