/*
 * Declarations that the files of operators share: their tables, the functions that read a call, and the computations
 * that several of them need.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_ROWS_H
#define COORDINATOR_NETWORK_HOST_HOST_ROWS_H

#include "coordinator/network/host/host_math.h"
#include "coordinator/network/host/host_ops.h"
#include "coordinator/network/onnx/infer.h"

/* Each ends with a row without a name. */
extern const struct host_row host_kernel_rows[]; /* operators of passes/kernel_op.h that compute */
extern const struct host_row host_matrix_rows[]; /* products of matrices */
extern const struct host_row host_movement_rows[]; /* copies of elements to other places */
extern const struct host_row host_norm_rows[];     /* normalisations and softmax */
extern const struct host_row
    host_pointwise_rows[]; /* functions of one element or of several in the same place */
extern const struct host_row host_quantised_rows[]; /* to and from integers with scales */
extern const struct host_row host_reduction_rows[]; /* sums, extremes and their places along axes */
extern const struct host_row host_shape_rows[];     /* shapes and constants */
extern const struct host_row host_window_rows[];    /* convolutions and pools */

/* ---- what a call holds ---- */

/* The input, NULL where it is omitted. */
const struct host_array *host_input(const struct host_call *h, int index);
/* The first element of an array, `missing` where there is no array. */
double host_number_or(const struct host_array *array, double missing);
/* An attribute, or `missing`. */
int64_t host_int(const struct host_call *h, const char *name, int64_t missing);
double host_float(const struct host_call *h, const char *name, double missing);
/* Whether the operator has this name, in ONNX's domain or in Microsoft's. */
bool host_is_named(const struct host_call *h, const char *name);

/* ---- broadcasting ---- */

/* The element of each array that belongs to element i of the output: strides with 0 on repeated axes. */
void host_broadcast_strides(const struct shape *from, const struct shape *to,
                            int64_t strides[SHAPE_MAX_RANK]);
/* The array with the dimensions of `to`. The caller owns a reference. */
struct host_array *host_expanded(const struct host_array *array, const struct shape *to,
                                 int threads);

/* ---- what several files compute ---- */

/* x - zero for each element, or for each index of axis 0 where there are several zero points; x itself where zero is
 * NULL. The caller owns a reference. */
struct host_array *host_less_zero(const struct host_array *x, const struct host_array *zero);
/* The activation that the attributes "activation" and "activation_params" name, in place. */
void host_activate(const struct host_call *h, struct host_array *y);
double host_sigmoid(double x);
double host_leaky(double x, double slope);
/* A window over one to three axes in space, from ONNX's description of it. */
void host_set_window(struct host_window *w, const struct window *from, const struct shape *x,
                     const struct shape *y, int64_t groups);

#endif
