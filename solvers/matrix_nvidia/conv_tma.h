/*
 * ConvTma's perf config, shared by conv_tma.c (the row) and conv_tma_space.c (the space).
 */
#ifndef SOLVERS_MATRIX_NVIDIA_CONV_TMA_H
#define SOLVERS_MATRIX_NVIDIA_CONV_TMA_H

#include "solvers/framework/space.h"
#include "solvers/matrix_nvidia/matrix_common.h"
#include "solvers/matrix_nvidia/tma_boxes.h"

/* The parameters, in order. Terms are split in two ways: among the workgroups of a team (TMA_TEAM), a cluster
 * that adds up its sums in its own local memories, and into parts in the workspace (TMA_SPLITS). */
enum { TMA_BLOCK_M, TMA_BLOCK_N, TMA_RESIDENT, TMA_TEAM, TMA_SPLITS, TMA_PARAM_COUNT };

#define TMA_BLOCK_K        64  /* terms of a block: 128 bytes */
#define TMA_CHUNK_CHANNELS 8   /* channels of 16 bytes */
#define TMA_MAPS_BYTES     256 /* tensor maps of a workgroup, in the workspace */

extern const struct space conv_tma_space;

/* Sets the config with the fewest estimated cycles, which is right for every problem that is served. */
void conv_tma_default_config(const struct problem *p, const struct context *context,
                             struct perf_config *config);
/* The most that any config takes. */
uint64_t conv_tma_workspace_bytes(const struct problem *p, const struct context *context);

/* Bytes of the maps alone; the workspace limit less the maps. */
uint64_t conv_tma_maps_bytes(const struct context *context);
struct context conv_tma_beside_maps(const struct context *context);

/* How a config divides the product; its splits count parts of teams and of the workspace. */
struct matrix_blocks conv_tma_blocks(const struct problem *p, const struct context *context,
                                     const int32_t *values);
void conv_tma_grid(const struct problem *p, const struct context *context, const int32_t *values,
                   const struct tma_boxes *boxes, struct tma_grid *grid);
/* Of a workgroup: work-items; stages (blocks of terms in local memory); bytes of local memory. */
int conv_tma_items(const int32_t *values);
int conv_tma_stages(const struct context *context, const int32_t *values);
int64_t conv_tma_local_bytes(const struct context *context, const int32_t *values);

#endif
