/*
 * Kernels of matrix units read packed NHWC or NDHWC tensors whose groups have whole chunks of channels. Other tensors
 * are copied to that layout in the workspace before the kernel, and its result is copied back
 * (kernels/device/common/conv_transpose*.cl). Tensors that already have the layout are not copied. Strided inputs are copied, too.
 * A strided result with channels innermost is written in its place if each of its positions begins at a multiple of 16
 * bytes and all of them are one step apart.
 *
 * Some kernels want the filter `turned`, with k innermost: w[group][c][filter positions][k], both c and k rounded up to
 * whole chunks. It is always copied. The copy has zeros for k past the end, and nothing for such c: what those give is in
 * channels of the result that are not copied back.
 */
#ifndef SOLVERS_COMMON_MATRIX_TRANSFORM_H
#define SOLVERS_COMMON_MATRIX_TRANSFORM_H

#include "solvers/framework/solution.h"

/* Whether the problem's tensors can be copied to channels innermost with chunks of this many channels,
 * in two or three dimensions. Otherwise *reason says so. */
bool matrix_transform_serves(const struct problem *p, int chunk, const char **reason);
/* Channels of a group after the copy, rounded up to whole chunks. */
int64_t matrix_transform_channels(int64_t channels, const struct problem *p, int chunk);
/* Elements from one position of the result to the next where a solution's launches write it: in the problem's own tensor, which
 * may be strided (a part of a concatenation), or in the copy. For F and B. */
int64_t matrix_transform_pitch(const struct problem *p, int chunk);
/* Bytes of the copies in the workspace, 0 where nothing is copied. */
uint64_t matrix_transform_bytes(const struct problem *p, int chunk);
/* The share of a kernel's speed that is left where tensors are copied: the more bytes copies have beside the problem's own
 * tensors, the less. 1 where nothing is copied. */
double matrix_transform_used_part(const struct problem *p, int chunk);
/* The same bytes with a turned filter. */
uint64_t matrix_transform_turned_bytes(const struct problem *p, int chunk);
/* Completes a solution for a problem whose tensors must be copied. The solution's launches then read and write the
 * copies, which follow its own workspace; launches that copy are added before and after them. */
void matrix_transform_solution(const struct problem *p, int chunk, struct solution *solution);
/* The same for launches that read a turned filter, for a problem whose filter is an input. */
void matrix_transform_turned_solution(const struct problem *p, int chunk,
                                      struct solution *solution);

#endif
