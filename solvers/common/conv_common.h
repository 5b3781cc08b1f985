/*
 * Questions that several convolution solvers ask about a problem, and parts of launches that they share. Pure
 * functions, at most linear in the filter's size.
 */
#ifndef SOLVERS_COMMON_CONV_COMMON_H
#define SOLVERS_COMMON_CONV_COMMON_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* `count` divided by `by`, rounded up; both must be positive. */
int64_t conv_divide_up(int64_t count, int64_t by);
/* The greatest common divisor; for 0 and a number the number. */
int64_t conv_gcd(int64_t a, int64_t b);
/* The share of a dimension's blocks that holds elements: count divided by (count rounded up to whole blocks). */
double conv_used_part(double count, int block);

/* Whether the convolution is without cast types and its epilogue, if it has one, is such that kernels compute it
 * (conv_epilogue_is_served()); otherwise *reason says so. A key's bias flag is allowed: the convolution is computed
 * without it, and another kernel adds the bias. (An epilogue "+bias" means one kernel for both.) */
bool conv_is_plain(const struct problem *p, const char **reason);

/* The same without a look at the epilogue: whether no tensor has a cast type. */
bool conv_is_uncast(const struct problem *p, const char **reason);

/* Whether each of the two inputs is FP8 or BF8, and the output one of these, FP16, BF16 or FP32. */
bool conv_is_float8(const struct problem *p);

/* A bound for positions in the input: an input position computed from any output and filter position is less
 * than this far from the input's start, in either direction, even where a filter reaches past the padding. */
int64_t conv_reach(const struct problem *p, enum axis axis);

/* The stride's period: the least distance of two filter positions that read input positions of the same remainder
 * modulo the stride. */
int64_t conv_stride_period(const struct problem *p, enum axis axis);

/* Whether the types are FP32, FP16 and BF16 in any mixture (summed in FP32), or forward INT8 (summed in INT32) with an
 * output that conv_is_int8() takes. Otherwise *reason says so. */
bool conv_types_are_served(const struct problem *p, const char **reason);

/* The same with FP8 and BF8 in the mixture, for kernels that include float8.h. */
bool conv_floats_are_served(const struct problem *p, const char **reason);

/* Whether x and w are INT8 and y is INT32. With an epilogue, which converts the sums, y may also be INT8, FP32, FP16 or
 * BF16. */
bool conv_is_int8(const struct problem *p);

/* The type of sums for these types, a kernel's LANE: "float" or "int". */
const char *conv_sum_type(const struct problem *p);

/* Whether no tensor has its channels in blocks (NCHWc), so that one stride for each axis describes it. */
bool conv_layouts_are_plain(const struct problem *p, const char **reason);
/* Returns whether, besides, each image is stored behind the one before it, as in all layouts but CHWN. */
bool conv_images_follow(const struct problem *p, const char **reason);

/* Whether a layout has channels innermost: NHWC, NDHWC; whether it is one of planes: NCHW, NCDHW. */
bool conv_is_channels_last(enum layout layout);
bool conv_is_planes(enum layout layout);

/* Sets *flat to a convolution of two dimensions that is the same matrix product over the same tensors with channels
 * innermost, where a convolution of three dimensions and its strides allow it; else to p itself. Only the sizes,
 * spatial_dim and the strides of x, w and y are meant to be used. A filter of one plane, with stride 1 and no padding in depth, has each plane of depth as an image;
 * one of a single position in each plane, with stride 1 and no padding there, has planes as rows. */
void conv_flatten(const struct problem *p, struct problem *flat);
/* Whether conv_flatten() leaves three dimensions. */
bool conv_has_depth(const struct problem *p);
/* The same for tensors with positions innermost, whose planes can be rows, but not images. */
void conv_flatten_rows(const struct problem *p, struct problem *flat);

/* Rows m, columns n and terms k of the matrix product that each group of the convolution is: for F m = k, n = n*out,
 * k = c*fil; for B m = c, n = n*in, k = k*fil; for W m = k, n = c*fil, k = n*out. Doubles, since they may exceed 64
 * bits. */
void conv_gemm_sizes(const struct problem *p, double *m, double *n, double *k);

/* Whether positions, the sizes of conv_gemm_sizes(), each axis' reach and a tile's strides and dilations fit 31 bits,
 * so that kernels may count in int. Element offsets may need 64 bits. Otherwise *reason says so. */
bool conv_counts_fit_32_bits(const struct problem *p, const char **reason);

/* Work-items of a launch whose items loop over `count` elements in steps of the launch's size: whole workgroups
 * of `block`, at most 2^30, since GPUs count work-items in 32 bits. */
int64_t conv_loop_items(int64_t count, int block);

/* Adds the option DIRECTION_F, DIRECTION_B or DIRECTION_W. */
void conv_add_direction_option(const struct problem *p, struct launch *launch);
/* Adds the options TYPE_X, TYPE_W and TYPE_Y, the tensors' data types. */
void conv_add_type_options(const struct problem *p, struct launch *launch);
/* Adds the options CAST_X, CAST_W and CAST_Y for inputs that are cast; none to FP64, which holds every element as it is. */
void conv_add_cast_options(const struct problem *p, struct launch *launch);
/* Adds pointers to x, w and y as arguments. */
void conv_add_tensor_args(struct launch *launch);
/* The inputs of the direction: x w for F, y w for B, y x for W. */
enum tensor_role conv_first_input(const struct problem *p);
enum tensor_role conv_second_input(const struct problem *p);
/* Adds the operands of the matrix product, which are these inputs, then its result. With `filter_first` w comes first
 * in F and B. With is_split the result argument is the start of the workspace, where split-K partial sums go. */
void conv_add_product_args(const struct problem *p, bool filter_first, bool is_split,
                           struct launch *launch);
/* Adds 15 strides as 64-bit arguments: n c d h w of x, k c d h w of w, n k d h w of y. */
void conv_add_stride_args(struct launch *launch);
/* Adds a 2D tensor's four strides (n c h w, or k c h w) as 64-bit arguments. */
void conv_add_plane_strides(struct launch *launch, enum tensor_role role);
/* Adds 22 counts, 32-bit: n, groups, c and k of a group; then in, fil, out, pad, stride and dilation, d h w each. */
void conv_add_shape_args(const struct problem *p, struct launch *launch);

/* Whether the problem is a plain 2D forward convolution of FP32 NCHW tensors with element offsets below 2^31, a
 * tile past the end included. Otherwise *reason says what is missing. */
bool conv_is_nchw_fp32_forward(const struct problem *p, const char **reason);

/* Multiply-accumulates of the convolution that read no padding. */
double conv_exact_macs(const struct problem *p);

/* Bytes of an input's elements that affect the result, or of all elements of an output, without the padding of blocked
 * layouts. */
double conv_meant_bytes(const struct problem *p, enum tensor_role role);
/* Sets read_bytes and write_bytes to the least that any solution must move: the output, and once each input
 * element that affects the result. A strided 1x1 skips most of x; wide padding skips a part of w and y. */
void conv_set_compulsory_bytes(const struct problem *p, struct solution *solution);

/* The products in the shortest sum of an output that has any: of one at an edge, where padding takes the others (in W of
 * the filter's position that meets the fewest of x). At most that: an axis of a million positions counts as one product. */
double conv_shortest_sum(const struct problem *p);

/* Both set the compulsory bytes, and the operations as two for each multiply-accumulate: conv_set_exact_work()
 * without products with padding, conv_set_full_work() with them. */
void conv_set_exact_work(const struct problem *p, struct solution *solution);
void conv_set_full_work(const struct problem *p, struct solution *solution);

#endif
