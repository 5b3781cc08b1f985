/*
 * ConvTma's perf config, and how it divides the product.
 */
#ifndef SOLVERS_MATRIX_NVIDIA_CONV_TMA_H
#define SOLVERS_MATRIX_NVIDIA_CONV_TMA_H

#include "solvers/framework/space.h"
#include "solvers/matrix_nvidia/matrix_common.h"
#include "solvers/matrix_nvidia/tma_boxes.h"

/* The parameters, in order. TMA_RESIDENT: workgroups on a multiprocessor at once. Terms are split in two ways: among
 * the workgroups of a team (TMA_TEAM), a cluster whose workgroups share a tile and add up their sums through local
 * memory, and into parts in the workspace (TMA_SPLITS). */
enum { TMA_BLOCK_M, TMA_BLOCK_N, TMA_RESIDENT, TMA_TEAM, TMA_SPLITS, TMA_PARAM_COUNT };

#define TMA_BLOCK_K    64  /* terms of a block of terms: a line of 128 bytes */
#define TMA_MAPS_BYTES 256 /* bytes of a workgroup's tensor maps in the workspace */

/* Bytes of the tensor maps in the workspace, for the config with the most workgroups. */
uint64_t conv_tma_maps_bytes(const struct context *context);

/* How a config divides the product among workgroups. */
void conv_tma_grid(const struct problem *p, const struct context *context, const int32_t *values,
                   const struct tma_boxes *boxes, struct tma_grid *grid);
/* Bytes of a workgroup's local memory. */
int64_t conv_tma_local_bytes(const struct context *context, const int32_t *values);

#endif
