/*
 * Functions that the passes share: they look at nodes and constants, and make small constants.
 */
#ifndef COORDINATOR_NETWORK_PASSES_PASS_H
#define COORDINATOR_NETWORK_PASSES_PASS_H

#include "coordinator/network/graph.h"

/* A node as the functions of operators' rows see it. Valid while the graph is not changed. */
struct pass_call {
    struct op_call call;
    const struct shape **shapes;
    const struct tensor **constants;
};
void pass_call_init(struct pass_call *call, const struct node *node);
void pass_call_clear(struct pass_call *call);

/* The contents of a value, also behind views, as a packed tensor of its shape; NULL if they are not known, or if the
 * model has no data for it. Free with tensor_unref(). */
struct tensor *value_contents(struct value *value);
/* All elements of a constant as doubles in row-major order, NULL if they are not known; free with g_free(). A
 * cast between the constant and the value is not done: the result has the constant's own precision. */
double *value_numbers(struct value *value, int64_t *count);
/* Whether the value is one known number, and which. */
bool value_is_number(struct value *value, double *number);
/* Whether the value is a constant, perhaps behind views, with or without data. */
bool value_is_constant(struct value *value);

/* A constant of one axis of the graph. */
struct value *add_float32s(struct graph *graph, const char *name, const double *numbers,
                           int64_t count);
struct value *add_int32s(struct graph *graph, const char *name, const double *numbers,
                         int64_t count);
/* A packed tensor of these dimensions, every element the number. */
struct tensor *tensor_full(enum element_type type, int rank, const int64_t *dims, double number);

/* Whether the view shows all of its base's elements in their order, perhaps with other dimensions, and in their type. */
bool view_is_reshape(const struct view *view, const struct shape *base);
/* Whether two values show the same elements in the same way. */
bool values_are_same(struct value *a, struct value *b);

/* Sets an error with this node's name in front: "node 'x' (Resize): ". Returns false. */
bool node_unsupported(struct node *node, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

#endif
