/*
 * What each operator computes, on the host: a table by operators' names, ONNX's and those of passes/kernel_op.h. Views
 * need no row: they show what they show.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_OPS_H
#define COORDINATOR_NETWORK_HOST_HOST_OPS_H

#include "coordinator/network/host/host_array.h"
#include "coordinator/network/op.h"

struct host_call {
    const struct op_call *call;
    struct host_array *const *inputs; /* NULL: omitted */
    struct host_array *
        *outputs; /* arrays of zeros with the outputs' shapes; NULL for unknown ones */
    int threads;
};

/* Fills the outputs. NETWORK_ERROR_UNSUPPORTED says what it cannot do, without the node's name. */
typedef bool (*host_function)(const struct host_call *call, GError **error);

/* The operator's function, NULL if it has none. */
host_function host_find(const char *op_name);
/* The names of the table, in its order; NULL behind the last. */
const char *host_op_at(int index);

#endif
