/*
 * What several convolution solvers ask about a problem. Pure functions, each
 * linear in the filter's size at most.
 */
#ifndef SOLVERS_CONV_COMMON_H
#define SOLVERS_CONV_COMMON_H

#include "solvers/problem.h"
#include "solvers/solution.h"

/* True for a plain convolution: no bias, no epilogue, no cast types. Otherwise *reason says which.
 */
bool conv_is_plain(const struct problem *p, const char **reason);

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
