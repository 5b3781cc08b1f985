/*
 * What several convolution solvers ask about a problem. Pure functions, each
 * linear in the filter's size at most.
 */
#ifndef SOLVERS_CONV_COMMON_H
#define SOLVERS_CONV_COMMON_H

#include "solvers/problem.h"
#include "solvers/solution.h"

/* True for a plain convolution: no epilogue, no cast types. Otherwise *reason says which. The bias
 * that a key may carry is no matter: the convolution is computed without it, and a kernel of its own
 * adds it (an epilogue "+bias" is another thing, one kernel that does both). */
bool conv_is_plain(const struct problem *p, const char **reason);

/* No position that is computed from an output's and a filter's position is as far as this from the
 * input's start, either way, not even where a filter reaches past the padded input. */
int64_t conv_reach(const struct problem *p, enum axis axis);

/* Filter positions that far apart fall on the same position within the stride; nearer ones do not.
 */
int64_t conv_stride_period(const struct problem *p, enum axis axis);

/* True for a plain 2D forward convolution, all tensors FP32 and NCHW, every offset in elements
 * below 2^31 (with room for one tile past the end). Otherwise *reason says what is missing. */
bool conv_is_nchw_fp32_forward(const struct problem *p, const char **reason);

/* Multiply-accumulates without those that padding makes: what a kernel does that skips padding. */
double conv_exact_macs(const struct problem *p);

/* Bytes of x that the convolution looks at: a strided 1x1 leaves most of it out. */
double conv_touched_x_bytes(const struct problem *p);

/* Sets read_bytes and write_bytes for a solution that reads each input once and writes the output.
 */
void conv_set_compulsory_bytes(const struct problem *p, struct solution *solution);

#endif
