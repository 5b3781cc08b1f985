/*
 * ConvTma's perf config, shared between its row (conv_tma.c) and its space (conv_tma_space.c).
 */
#ifndef SOLVERS_MATRIX_NVIDIA_CONV_TMA_H
#define SOLVERS_MATRIX_NVIDIA_CONV_TMA_H

#include "solvers/framework/space.h"
#include "solvers/matrix_nvidia/matrix_common.h"
#include "solvers/matrix_nvidia/tma_boxes.h"

/* The parameters, in order. Terms are split into parts of a team (TMA_TEAM), which a cluster of workgroups adds up
 * within itself, or into parts that lie in the workspace (TMA_SPLITS). */
enum { TMA_BLOCK_M, TMA_BLOCK_N, TMA_RESIDENT, TMA_TEAM, TMA_SPLITS, TMA_PARAM_COUNT };

#define TMA_BLOCK_K        64  /* a line of 128 bytes */
#define TMA_CHUNK_CHANNELS 8   /* 16 bytes */
#define TMA_MAPS_BYTES     256 /* of a workgroup, in the workspace */

extern const struct space conv_tma_space;

/* What takes the fewest cycles, roughly; right for every problem that is served. */
void conv_tma_default_config(const struct problem *p, const struct context *context,
                             struct perf_config *config);
/* The most that any config has. */
uint64_t conv_tma_workspace_bytes(const struct problem *p, const struct context *context);

/* Of the maps alone; and the limit for what lies in the workspace beside them. */
uint64_t conv_tma_maps_bytes(const struct context *context);
struct context conv_tma_beside_maps(const struct context *context);

/* How a config divides the product: splits are all parts, of teams and in the workspace. */
struct matrix_blocks conv_tma_blocks(const struct problem *p, const struct context *context,
                                     const int32_t *values);
void conv_tma_grid(const struct problem *p, const struct context *context, const int32_t *values,
                   const struct tma_boxes *boxes, struct tma_grid *grid);
/* Of a workgroup: items, blocks of terms that it keeps, and bytes of local memory. */
int conv_tma_items(const int32_t *values);
int conv_tma_stages(const struct context *context, const int32_t *values);
int64_t conv_tma_local_bytes(const struct context *context, const int32_t *values);

#endif
