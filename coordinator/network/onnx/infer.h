/*
 * Functions that the rows of ONNX's operators share: they read and check attributes and the known contents of inputs.
 * Also the functions of the rows themselves, which onnx_ops.c puts into one table. Internal to this folder.
 *
 * All functions are pure. Messages do not name the node; the graph does.
 */
#ifndef COORDINATOR_NETWORK_ONNX_INFER_H
#define COORDINATOR_NETWORK_ONNX_INFER_H

#include "coordinator/network/op.h"

/* The largest tensor whose contents are computed with its shape: shapes, indices, scales. In elements. */
#define FOLD_ELEMENTS_MAX 16384

/* infer_invalid() is for what breaks a rule of ONNX, infer_unsupported() for what the file does not tell. Both set an
 * error and are false. */
void infer_set_error(GError **error, enum network_error code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* They are macros, so that compilers see the constant false. */
#define infer_invalid(error, ...)                                                                  \
    (infer_set_error(error, NETWORK_ERROR_INVALID, __VA_ARGS__), false)
#define infer_unsupported(error, ...)                                                              \
    (infer_set_error(error, NETWORK_ERROR_UNSUPPORTED, __VA_ARGS__), false)

/* The input's shape; NULL if it is omitted. */
const struct shape *infer_input(const struct op_call *call, int input);
/* The input's contents if they are known, or NULL. */
const struct tensor *infer_contents(const struct op_call *call, int input);

/* Sets output 0 to a packed tensor. */
bool infer_packed(struct shape *output, enum element_type type, int rank, const int64_t *dims,
                  GError **error);
/* Counts a negative axis from the end. `what` names the attribute or input for messages. */
bool infer_axis(const char *what, int64_t given, int rank, int *axis, GError **error);
/* The same for a list; an axis must not come twice. */
bool infer_axes(const char *what, const int64_t *given, int count, int rank,
                bool chosen[SHAPE_MAX_RANK], GError **error);
/* Sets values to the numbers of a small input whose contents must be known. `what` names the input. */
bool infer_numbers(const struct op_call *call, int input, const char *what, int64_t *values,
                   int most, int *count, GError **error);
/* Sets values to the integers of an attribute, `count` of them; `missing` each if there is no such attribute. */
bool infer_attribute(const struct op_call *call, const char *name, int count, int64_t missing,
                     int64_t least, int64_t *values, GError **error);
/* a * b with NETWORK_ERROR_INVALID where it does not fit. */
bool infer_product(int64_t a, int64_t b, int64_t *product, GError **error);

/* Padding, stride and dilation of a window that moves over the axes in space. */
struct window {
    int axes; /* in space */
    int64_t size[SHAPE_MAX_RANK], stride[SHAPE_MAX_RANK], dilation[SHAPE_MAX_RANK];
    int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK]; /* padding */
};

/* Reads strides, dilations, pads and auto_pad of a window of this size over an input of these sizes in space. */
bool infer_window(const struct op_call *call, int axes, const int64_t *in, const int64_t *size,
                  struct window *window, GError **error);
/* The same for a transposed convolution, whose output's sizes it sets, too. */
bool infer_transposed_window(const struct op_call *call, int axes, const int64_t *in,
                             const int64_t *size, struct window *window, int64_t *out,
                             int64_t *output_padding, GError **error);

/* The indexes of a convolution's inputs. */
struct conv_inputs {
    int x, w, bias; /* bias: -1 for none */
    bool is_transposed;
    bool channels_last; /* x and y are N H W C (com.microsoft) */
};
/* Returns false if the operator is no convolution. */
bool infer_conv_inputs(const struct op *op, const struct attributes *attributes,
                       struct conv_inputs *inputs);

/* The functions `infer` (op.h) of the rows. */
#define INFER(name) bool name(const struct op_call *call, struct shape *outputs, GError **error)
INFER(infer_conv);
INFER(infer_pool);
INFER(infer_global_pool);
INFER(infer_max_unpool);
INFER(infer_max_roi_pool);
INFER(infer_roi_align);
INFER(infer_same);       /* like input 0 */
INFER(infer_test);       /* like input 0, of truth values */
INFER(infer_broadcast);  /* of all inputs, in their type */
INFER(infer_comparison); /* of all inputs, truth values */
INFER(infer_where);
INFER(infer_clip);
INFER(infer_prelu);
INFER(infer_normalization); /* like input 0, other outputs a value for each channel */
INFER(infer_layer_norm);
INFER(infer_dropout);
INFER(infer_gemm);
INFER(infer_matmul);
INFER(infer_einsum);
INFER(infer_concat);
INFER(infer_qlinear_concat);
INFER(infer_split);
INFER(infer_slice);
INFER(infer_reshape);
INFER(infer_flatten);
INFER(infer_squeeze);
INFER(infer_unsqueeze);
INFER(infer_expand);
INFER(infer_tile);
INFER(infer_pad);
INFER(infer_resize);
INFER(infer_depth_to_space);
INFER(infer_space_to_depth);
INFER(infer_reduce);
INFER(infer_arg);
INFER(infer_gather);
INFER(infer_gather_elements);
INFER(infer_gather_nd);
INFER(infer_top_k);
INFER(infer_compress);
INFER(infer_non_zero);
INFER(infer_non_max_suppression);
INFER(infer_one_hot);
INFER(infer_eye_like);
INFER(infer_shape_of);
INFER(infer_size_of);
INFER(infer_constant_of_shape);
INFER(infer_range);
INFER(infer_quantize);
INFER(infer_dequantize);
INFER(infer_dynamic_quantize);
INFER(infer_qlinear_binary);
INFER(infer_grid_sample);
INFER(infer_recurrent);
#undef INFER

/* Contents of small results; the graph itself knows those of views. Elements are computed in double precision, integers in 64 bits. */
#define FOLD(name)                                                                                 \
    bool name(const struct op_call *call, const struct shape *outputs, struct tensor **constants,  \
              GError **error)
FOLD(fold_unary);
FOLD(fold_binary);
FOLD(fold_where);
FOLD(fold_clip);
FOLD(fold_concat);
FOLD(fold_split);
FOLD(fold_slice);
FOLD(fold_tile);
FOLD(fold_gather);
FOLD(fold_reduce);
FOLD(fold_shape_of);
FOLD(fold_size_of);
FOLD(fold_constant_of_shape);
FOLD(fold_range);
#undef FOLD

/* The first element that Slice takes along each axis, and the step from one to the next. */
bool infer_slice_steps(const struct op_call *call, int64_t begin[SHAPE_MAX_RANK],
                       int64_t step[SHAPE_MAX_RANK], int64_t dims[SHAPE_MAX_RANK], GError **error);
/* The axes over which a Reduce operator goes. */
bool infer_reduced_axes(const struct op_call *call, bool reduced[SHAPE_MAX_RANK], GError **error);

/* Whether layouts with channels behind N, or at the end, are read: for convolutions and pools. */
bool reads_layouts(const struct op_call *call, int input, const struct shape *stored);

#endif
