/*
 * State and functions that the files of lowering share: the node that is being lowered, the tables of these files, and
 * the kernels that several of them add.
 */
#ifndef COORDINATOR_NETWORK_PASSES_LOWERING_H
#define COORDINATOR_NETWORK_PASSES_LOWERING_H

#include "coordinator/network/graph.h"
#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/passes/kernel_op.h"

/* One node that is being lowered. New nodes come in front of it. */
struct lowering {
    struct graph *graph;
    struct node *node;
    const struct op_call *call;
    const struct shape *x, *y; /* of input 0 and output 0 */
    const char *nodes[2];
    GError **error;
};

/* Each lowers the node; it returns the value that replaces output 0, or NULL with an error. */
typedef struct value *(*lower_function)(struct lowering *l);

struct lower_row {
    const char *name; /* the operator's */
    lower_function lower;
};

/* Each ends with a row without a name. */
extern const struct lower_row lower_matrix_rows[];    /* products of matrices */
extern const struct lower_row lower_movement_rows[];  /* copies of elements to other places */
extern const struct lower_row lower_norm_rows[];      /* LRN and softmax */
extern const struct lower_row lower_pointwise_rows[]; /* functions of elements, batch norm too */
extern const struct lower_row lower_quantised_rows[]; /* operators on integers with scales */
extern const struct lower_row
    lower_window_rows[]; /* convolutions, pools, reductions and resizing */

/* ---- what the node holds ---- */

/* Sets the error, which names the node; returns NULL. */
struct value *lower_fail(struct lowering *l, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The input, NULL where it is omitted. */
struct value *lower_input(struct lowering *l, int index);
/* An attribute, or `missing`. */
int64_t lower_int(struct lowering *l, const char *name, int64_t missing);
double lower_float(struct lowering *l, const char *name, double missing);
const char *lower_string(struct lowering *l, const char *name, const char *missing);

/* ---- shapes ---- */

/* A tensor [N, C, L] as [N, C, 1, L]; others as they are. */
struct value *lower_to_plane(struct value *value, const struct shape *shape);
/* The value, which has `rank` axes, with output 0's own dimensions. */
struct value *lower_to_output(struct lowering *l, struct value *value, int rank);
/* Sizes of the last `axes` axes as a kernel has them: `neutral` in front. */
void lower_spread_axes(const int64_t *values, int axes, int64_t neutral, int64_t out[AXIS_COUNT]);

/* ---- constants ---- */

/* Reads a constant as a list of one number for each channel of a tensor with `channels` in axis 1. All axes of the
 * constant except the one aligned with axis 1 must have one element; a single number is repeated. NULL for any other
 * constant; free with g_free(). */
double *lower_channel_numbers(struct value *value, int rank, int64_t channels);
/* A new constant of FP32 numbers, named after the node and its part. */
struct value *lower_floats(struct lowering *l, const char *part, const double *numbers,
                           int64_t count);

/* ---- kernels; a part's name follows the node's, NULL for the node itself ---- */

/* The output of a new kernel. Inputs that it does not have are NULL. */
struct value *lower_apply(struct lowering *l, const char *part, const struct kernel *kernel,
                          struct value *x, struct value *w, struct value *bias,
                          struct value *residual, struct value *scales);
/* A kernel of an epilogue's steps alone. type: of the output, ELEMENT_NONE for x's. */
struct value *lower_to_steps(struct lowering *l, const char *part, struct value *x,
                             const struct epilogue *epilogue, struct value *bias,
                             struct value *residual, struct value *scales, enum element_type type);
struct value *lower_to_step(struct lowering *l, const char *part, struct value *x,
                            enum epilogue_op op, double a, double b);
struct value *lower_add_bias(struct lowering *l, struct value *x, struct value *bias);
/* x with so many elements of `number` before and after each of its `rank` axes. */
struct value *lower_add_border(struct lowering *l, struct value *x, int rank, const int64_t *before,
                               const int64_t *after, double number);
/* Adds a convolution of x by w without bias. If no padding of a problem fits, it adds a border around x. `border` is
 * what padding adds (the zero point of x). */
struct value *lower_convolve(struct lowering *l, struct value *x, struct value *w, double border,
                             enum element_type type);

#endif
