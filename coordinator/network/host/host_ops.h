/*
 * The functions that compute operators on the host: a table by the names of operators, ONNX's and those of
 * passes/kernel_op.h. Views have no row, since they compute nothing.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_OPS_H
#define COORDINATOR_NETWORK_HOST_HOST_OPS_H

#include "coordinator/network/host/host_array.h"
#include "coordinator/network/op.h"

struct host_call;
/* Fills the outputs. NETWORK_ERROR_UNSUPPORTED says what it cannot do, without the node's name. */
typedef bool (*host_function)(const struct host_call *call, GError **error);

struct host_row {
    const char *name;
    host_function function;
    const void *
        detail; /* what the function reads of its row, of a type of its own; NULL for most functions */
};

struct host_call {
    const struct host_row *row; /* the operator's: host_find() */
    const struct op_call *call;
    struct host_array *const *inputs; /* NULL: omitted */
    /* Arrays with the outputs' shapes; NULL for unknown ones. The elements of the first are not set, those of others are
     * zeros. */
    struct host_array **outputs;
    int threads;
};

/* The operator's row, NULL if it has none. */
const struct host_row *host_find(const char *op_name);

#endif
