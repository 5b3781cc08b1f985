/*
 * The rows of ONNX's operators. A row's name is ONNX's; behind other domains' names there is a point:
 * "com.microsoft.QGemm". Rows have the form of the newest opset that is read: onnx_read.h brings older forms into it.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_OPS_H
#define COORDINATOR_NETWORK_ONNX_ONNX_OPS_H

#include "coordinator/network/op.h"

/* Returns the row of an operator, NULL for an operator without one. `domain` is "", "ai.onnx" or "com.microsoft". Cast
 * and Transpose are the core's rows. */
const struct op *onnx_op_find(const char *domain, const char *name);
/* All rows in the table's order, ends with NULL: for pages and tests. */
const struct op *onnx_op_at(int index);
/* The rows, with the two of the core, as a table in Markdown. Free with g_free(). */
char *onnx_ops_markdown(void);

#endif
