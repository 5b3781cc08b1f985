/*
 * The convolutions of a graph as problems.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_LAYERS_H
#define COORDINATOR_NETWORK_ONNX_ONNX_LAYERS_H

#include "coordinator/network/graph.h"

struct onnx_layer {
    const char *name;       /* the node's, valid as long as the graph */
    const char *op;         /* "Conv" */
    int position;           /* the node's place in the graph's order, from 1 */
    struct problem problem; /* valid if reason is NULL */
    char *
        reason; /* why there is no problem; it names the node that is to blame if that is another one */
    bool invalid;       /* the model breaks a rule of ONNX here */
    bool is_transposed; /* the problem is that of the mirrored convolution */
    bool is_integer;    /* of 8-bit integers: an INT8 problem whose output are INT32 sums */
    bool
        is_unsigned; /* of these, one with unsigned values, which the problem takes for signed ones */
};

/* Sets the problem of a convolution's node, of direction F, without bias and epilogue, from its inferred shapes. A
 * convolution over one axis in space is one of height 1. NETWORK_ERROR_UNSUPPORTED for types that solvers do not know,
 * uneven padding (onnx_settle_padding() takes it away) and deformable convolutions. */
bool onnx_conv_problem(struct node *node, struct problem *p, GError **error);

/* All convolutions in the graph's order: struct onnx_layer. Free with g_array_unref(). */
GArray *onnx_layers(Graph *graph);

/* Why a value has no shape: "node 'a' (Range): its bounds are ...". Free with g_free(). */
char *onnx_blame(struct value *value, bool *invalid);

#endif
