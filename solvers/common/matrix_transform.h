/*
 * Solvers whose kernels know packed NHWC tensors alone, with the channels of a group in whole chunks, serve NCHW and
 * other counts through this: the solution moves inputs into its workspace as the kernels want them, and their
 * result out of it (kernels/device/common/conv_transpose*.cl). Tensors that lie as they should stay where they are.
 */
#ifndef SOLVERS_COMMON_MATRIX_TRANSFORM_H
#define SOLVERS_COMMON_MATRIX_TRANSFORM_H

#include "solvers/framework/solution.h"

/* Whether each tensor, packed, of two dimensions, can be had as NHWC with channels in chunks of so many
 * elements. Otherwise *reason says so. */
bool matrix_transform_serves(const struct problem *p, int chunk, const char **reason);
/* Channels that a group has then. */
int64_t matrix_transform_channels(int64_t channels, const struct problem *p, int chunk);
/* Bytes of the workspace that moved tensors take, 0 where none is moved. */
uint64_t matrix_transform_bytes(const struct problem *p, int chunk);
/* Of a solution for such tensors: has its launches find moved ones in the workspace, behind its own, and adds the
 * launches that move them before and after. */
void matrix_transform_solution(const struct problem *p, int chunk, struct solution *solution);

#endif
