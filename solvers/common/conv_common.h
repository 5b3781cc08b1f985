/*
 * What several convolution solvers ask about a problem. Pure functions, each
 * linear in the filter's size at most.
 */
#ifndef SOLVERS_COMMON_CONV_COMMON_H
#define SOLVERS_COMMON_CONV_COMMON_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* Of counts and blocks from 1. */
int64_t conv_divide_up(int64_t count, int64_t by);
/* The greatest common divisor; of 0 and a number that number. */
int64_t conv_gcd(int64_t a, int64_t b);
/* The share of a dimension's blocks that is there. */
double conv_used_part(double count, int block);

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

/* Tensors of FP32, FP16 and BF16 in any mixture, summed in FP32, or INT8 to INT32, forward. Otherwise
 * *reason says so. */
bool conv_types_are_served(const struct problem *p, const char **reason);

bool conv_is_int8_to_int32(const struct problem *p);

/* "float" or "int": what sums of the types above are kept in, a kernel's LANE. */
const char *conv_sum_type(const struct problem *p);

/* True where no tensor's channels lie in blocks (all layouts but NCHWc): one stride an axis says it
 * all. */
bool conv_layouts_are_plain(const struct problem *p, const char **reason);

/* Rows, columns and depth of the matrix product that a group of the convolution is, each image and
 * position of the output being a column (F, B) or a term (W): F k x n*out by c*fil, B c x n*in by
 * k*fil, W k x c*fil by n*out. Doubles: they may exceed 64 bits. */
void conv_gemm_sizes(const struct problem *p, double *m, double *n, double *k);

/* Positions, the sizes above, each axis' reach and a tile's strides and dilations fit 31 bits, so that kernels may count in int;
 * offsets in elements need not. Otherwise *reason says so. */
bool conv_counts_fit_32_bits(const struct problem *p, const char **reason);

/* Work-items of a launch over `count` elements whose items go on by as many as there are of them: whole
 * workgroups of `block`, at most 2^30, since no GPU takes more than 32 bits count. */
int64_t conv_loop_items(int64_t count, int block);

/* Adds DIRECTION_F, DIRECTION_B or DIRECTION_W. */
void conv_add_direction_option(const struct problem *p, struct launch *launch);
/* Adds TYPE_X, TYPE_W and TYPE_Y. */
void conv_add_type_options(const struct problem *p, struct launch *launch);
/* x, w and y. */
void conv_add_tensor_args(struct launch *launch);
/* The tensors as operands of a matrix product, then its result: for F x w y, for B y w x, for W y x w; with
 * `filter_first` w comes first in F and B. The result is the workspace's start where terms are split. */
void conv_add_product_args(const struct problem *p, bool filter_first, bool is_split,
                           struct launch *launch);
/* 15 strides, 64-bit: n c d h w of x, k c d h w of w, n k d h w of y. */
void conv_add_stride_args(struct launch *launch);
/* Four strides, 64-bit: a tensor's without that of D. */
void conv_add_plane_strides(struct launch *launch, enum tensor_role role);
/* 22 counts, 32-bit: n, groups, c and k of a group; then in, fil, out, pad, stride and dilation, each
 * d h w. */
void conv_add_shape_args(const struct problem *p, struct launch *launch);

/* True for a plain 2D forward convolution, all tensors FP32 and NCHW, every offset in elements
 * below 2^31 (with room for one tile past the end). Otherwise *reason says what is missing. */
bool conv_is_nchw_fp32_forward(const struct problem *p, const char **reason);

/* Multiply-accumulates without those that padding makes: what a kernel does that skips padding. */
double conv_exact_macs(const struct problem *p);

/* Sets read_bytes and write_bytes to what no solution can do without: the output, and of each input
 * once what counts. A strided 1x1 leaves out most of x, wide padding a part of w and y. */
void conv_set_compulsory_bytes(const struct problem *p, struct solution *solution);

/* Sets a solution's work: these bytes, and two operations for each multiply-accumulate, without or with those that
 * padding makes. */
void conv_set_exact_work(const struct problem *p, struct solution *solution);
void conv_set_full_work(const struct problem *p, struct solution *solution);

#endif
