/*
 * Forms of operators in older opsets, brought into the newest one (onnx_read.h has the list).
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_FORMS_H
#define COORDINATOR_NETWORK_ONNX_ONNX_FORMS_H

#include "coordinator/network/graph.h"
#include "coordinator/network/onnx/onnx_file.h"

/* A node that is about to be added to the graph. */
struct onnx_draft {
    const char *name;   /* for messages and for the graph */
    const char *domain; /* "" for ONNX's own */
    const char *op;
    Attributes *attributes;
    GPtrArray *inputs; /* struct value *, NULL: omitted */
    int output_count;
};

/* The type of the graph's tensors for one of ONNX; ELEMENT_NONE for texts, complex numbers and others that graphs do
 * not have. */
enum element_type onnx_element_type(int64_t type);

/* Changes the draft in place; new constants are added to the graph. Returns false with NETWORK_ERROR_INVALID for
 * attributes that are of the wrong kind or missing. */
bool onnx_draft_modernise(Graph *graph, struct onnx_draft *draft, int opset, GError **error);

/* Brings padding that depends on sizes into numbers, and uneven padding of convolutions into Pad nodes, as far as shapes
 * are known. The graph must be propagated, and is again after it. Returns the number of Pad nodes added. */
int onnx_settle_padding(Graph *graph);

#endif
