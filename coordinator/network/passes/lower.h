/*
 * Lowering: the nodes of ONNX's operators become kernels (kernel_op.h), movements and views. Each ONNX node becomes one
 * kernel where it can, with nothing fused: a convolution's bias is a pointwise kernel of its own, which fuse.c joins
 * to it again. UINT8 tensors and their zero points become INT8, with 128 subtracted.
 */
#ifndef COORDINATOR_NETWORK_PASSES_LOWER_H
#define COORDINATOR_NETWORK_PASSES_LOWER_H

#include "coordinator/network/graph.h"

/* Lowers all nodes. The graph's shapes must be known; it is resolved afterwards. NETWORK_ERROR_UNSUPPORTED names the
 * first node that no kernel does, the reason, and how many more there are; the graph is then half lowered and of no
 * further use. */
bool network_lower(struct graph *graph, GError **error);

/* Whether lowering has a rule for the operator: for pages and tests. */
bool lower_knows(const char *op_name);

#endif
