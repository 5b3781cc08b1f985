/*
 * ConvTma's perf config, and how it divides the product.
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

/* Bytes of the tensor maps in the workspace. */
uint64_t conv_tma_maps_bytes(const struct context *context);

/* How a config divides the product among workgroups. */
void conv_tma_grid(const struct problem *p, const struct context *context, const int32_t *values,
                   const struct tma_boxes *boxes, struct tma_grid *grid);
/* Bytes of a workgroup's local memory. */
int64_t conv_tma_local_bytes(const struct context *context, const int32_t *values);

#endif
