/*
 * State and functions that the files of the ONNX reader share: the model that is being read, the names of its values,
 * and the steps of reading. Functions that return false or NULL set an error; only lookups return NULL without one.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_READER_H
#define COORDINATOR_NETWORK_ONNX_ONNX_READER_H

#include "coordinator/network/onnx/onnx_forms.h"
#include "coordinator/network/onnx/onnx_read.h"

#define ONNX_BRANCH_DEPTH_MAX 16 /* branches within branches, functions within functions */

/* Names of a graph and of those around it. */
struct scope {
    const struct scope *outer;
    GHashTable *values; /* name -> struct value */
};

struct reader {
    const OnnxFile *file;
    const struct onnx_options *options;
    struct onnx_notes *notes;
    Graph *graph;
    int opset;
    int depth;      /* of branches and functions */
    size_t inlined; /* nodes of functions, in the calls that were read */
    bool dims_used[ONNX_DIMS_MAX];
    GHashTable *batch_names; /* open dimensions that stand for the batch */
    int unread;              /* constants whose file cannot be read */
    int64_t filled_bytes;
};

/* ---- notes and errors: onnx_reader.c ---- */

/* Adds a sentence for the user. */
void onnx_note(struct reader *reader, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Sets EXPORT_ERROR_DAMAGED, which names the file; returns false. onnx_fail_node() names the node
 * too. */
bool onnx_fail(const struct reader *reader, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
bool onnx_fail_node(const struct reader *reader, const Onnx__NodeProto *node, GError **error,
                    const char *why);
/* The text, or the other one where it is NULL or empty. */
const char *onnx_text_or(const char *text, const char *other);
/* The name of a node for messages and for the graph: its own, or its first output's. */
const char *onnx_draft_name(const Onnx__NodeProto *node);

/* ---- values: onnx_reader.c ---- */

/* Returns the value of this name in this scope, or else in the nearest outer one that has it; NULL
 * if no scope has it. */
struct value *onnx_find_value(const struct scope *scope, const char *name);
void onnx_name_value(const struct scope *scope, const char *name, struct value *value);
/* Adds a value of unknown shape and contents, with the reason. */
struct value *onnx_add_unknown(struct reader *reader, const char *name, const char *op,
                               const char *reason);

/* ---- constants: onnx_tensors.c ---- */

/* Reads a tensor with its contents. Contents stay unknown if the tensor is large and the options ask for no weights, if
 * the file leaves them out, and if their own file is missing. */
struct tensor *onnx_read_tensor(struct reader *reader, const Onnx__TensorProto *tensor,
                                GError **error);
/* Adds a constant. Tensors that graphs do not have become unknown values. */
struct value *onnx_add_tensor(struct reader *reader, const char *name,
                              const Onnx__TensorProto *tensor, GError **error);
/* Adds a graph's constants and names them. */
bool onnx_add_initializers(struct reader *reader, const Onnx__GraphProto *from,
                           const struct scope *scope, GError **error);

/* ---- inputs and their sizes: onnx_inputs.c ---- */

/* Reads the shape that the model states of a value; with `says` it adds notes about open dimensions. Returns false
 * without an error if a dimension is open and neither --dim nor the batch gives its size (some exporters write 0 or -1
 * for open ones), and with an error if no tensor has such a shape. */
bool onnx_read_shape(struct reader *reader, const Onnx__ValueInfoProto *info, bool says,
                     struct shape *shape, GError **error);
/* Adds a graph's inputs, those without a constant. */
bool onnx_add_inputs(struct reader *reader, const Onnx__GraphProto *from, const struct scope *scope,
                     GError **error);

/* ---- attributes: onnx_attributes.c ---- */

/* All attributes that the graph can have. Free with attributes_unref(). */
Attributes *onnx_read_attributes(struct reader *reader, const Onnx__NodeProto *node,
                                 GError **error);
/* The node's attribute of this name, NULL if it has none. */
const Onnx__AttributeProto *onnx_find_attribute(const Onnx__NodeProto *node, const char *name);

/* ---- nodes: onnx_nodes.c, and onnx_functions.c for calls of functions ---- */

/* Both return whether the node's operator is of ONNX's own domain; onnx_is_own() also asks that it
 * is the operator `op`. */
bool onnx_is_own_domain(const Onnx__NodeProto *node);
bool onnx_is_own(const Onnx__NodeProto *node, const char *op);
/* Names a node's outputs. It is an error if the graph has a value of one of these names. */
bool onnx_name_outputs(struct reader *reader, const Onnx__NodeProto *node,
                       struct value *const *values, const struct scope *scope, GError **error);
/* Adds what the node becomes, and names its outputs. */
bool onnx_add_node(struct reader *reader, const Onnx__NodeProto *node, const struct scope *scope,
                   GError **error);
/* The function of the model that the node calls, or NULL. */
const Onnx__FunctionProto *onnx_find_function(const struct reader *reader,
                                              const Onnx__NodeProto *node);
/* Adds the nodes of the function that the node calls. */
bool onnx_add_call(struct reader *reader, const Onnx__NodeProto *node,
                   const Onnx__FunctionProto *function, GPtrArray *inputs,
                   const struct scope *scope, GError **error);

/* ---- all nodes of a graph, each behind what it reads: onnx_order.c ---- */

/* Adds all nodes, in whichever order the model lists them. */
bool onnx_read_nodes(struct reader *reader, const Onnx__GraphProto *from, const struct scope *scope,
                     GError **error);

#endif
