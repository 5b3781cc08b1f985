/*
 * ConvSimt's perf config, shared between its row (conv_simt.c) and its space (conv_simt_space.c).
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

/* What a grid's third axis has on every GPU. */
#define SIMT_GRID_MOST 65535

extern const struct space conv_simt_space;

void conv_simt_default_config(const struct problem *p, const struct context *context,
                              struct perf_config *config);
/* The most that any config has. */
uint64_t conv_simt_workspace_bytes(const struct problem *p, const struct context *context);

/* Whether every block of the space makes a grid that GPUs take. */
bool conv_simt_fits_grid(const struct problem *p, const struct context *context);
/* How operands are loaded by a whole config. */
struct simt_block conv_simt_block(const struct problem *p, const int32_t *values);
/* Work-items of a workgroup, and workgroups of a part, by a config's first four values. */
int conv_simt_items(const int32_t *values);
double conv_simt_workgroups(const struct tile_product *product, const int32_t *values);

#endif
