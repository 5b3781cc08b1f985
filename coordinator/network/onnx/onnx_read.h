/*
 * From a decoded model to a graph. Nodes get the rows of onnx_ops.h; forms of older opsets are brought into the newest
 * one, so that whoever reads the graph meets one form of each operator:
 *
 *   attributes that became inputs  Clip, Dropout, Pad, Reduce*, Slice, Split, Squeeze, TopK, Unsqueeze: constants
 *   Upsample, Resize of opset 10   Resize with "asymmetric" and "floor"; its inputs are x, nothing, scales, sizes
 *   Softmax and kin below 13       "axis" is always set; "to_end" is 1 where they go over all axes from that one on
 *   BatchNormalization             as it infers, one output
 *   Constant                       a constant of the graph; ConstantOfShape too, where its shape is known
 *   auto_pad                       "pads", once the input's size is known; SAME that pads unevenly as below
 *   uneven padding                 a Pad node in front of the convolution, whose own padding is then 0; a Slice
 *                                  behind a transposed one
 *   If                             the nodes of the branch that is taken, where the condition is known
 *   Sum of two                     Add
 *   CastLike                       Cast, where the type is known
 *   a call of a function           the function's nodes, named CALL/NODE, with the call's attributes
 *
 * Loop, Scan, If with an open condition and operators that no row has become `unknown` nodes,
 * which say why.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_READ_H
#define COORDINATOR_NETWORK_ONNX_ONNX_READ_H

#include "coordinator/network/graph.h"
#include "coordinator/network/onnx/onnx_file.h"

#define ONNX_DIMS_MAX 64

/* The size of a dimension that the model leaves open. */
struct onnx_dim {
    const char *name; /* the model's ("N"), or INPUT:AXIS ("data:0") */
    int64_t size;     /* 0: the batch size of struct onnx_options */
};

struct onnx_options {
    struct onnx_dim dims[ONNX_DIMS_MAX];
    int dim_count;
    int64_t batch; /* size of open dimensions that stand for the batch; 0: 1 */
    /* Contents of large tensors are not read: enough for shapes. */
    bool without_weights;
};

/* Notes for the user on what reading had to decide. */
struct onnx_notes {
    GPtrArray *lines; /* char *: sentences */
    int64_t batch;    /* the first size of the first image-like input; 1 without such an input */
    int hidden;       /* convolutions in branches and loops that cannot be read */
};
void onnx_notes_init(struct onnx_notes *notes);
void onnx_notes_clear(struct onnx_notes *notes);

/* Reads --dim's form, NAME=SIZE or NAME=batch, into the options; the name points into *word, which is changed and must
 * outlive them. EXPORT_ERROR_USAGE. */
bool onnx_dim_parse(char *word, struct onnx_options *options, GError **error);

/* Makes the graph of the model. Its shapes are propagated as far as they are known; nodes without one say why. NULL
 * with EXPORT_ERROR_DAMAGED, which names the node, for a model that contradicts itself, and EXPORT_ERROR_USAGE for a
 * --dim that the model does not have. Adds to notes (may be NULL). */
Graph *onnx_read_graph(const OnnxFile *file, const struct onnx_options *options,
                       struct onnx_notes *notes, GError **error);

/* A model's own statements about itself. Strings are owned; NULL where the model states nothing. */
struct onnx_about {
    char *framework, *model, *version;
};
void onnx_about_read(const OnnxFile *file, struct onnx_about *about);
void onnx_about_clear(struct onnx_about *about);

#endif
