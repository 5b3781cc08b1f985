/*
 * Functions that the files of the graph share. Only these files include this header.
 */
#ifndef COORDINATOR_NETWORK_GRAPH_INSIDE_H
#define COORDINATOR_NETWORK_GRAPH_INSIDE_H

#include "coordinator/network/graph.h"

/* Marks the node's shapes as pending. */
void node_mark_pending(struct node *node);
/* Every edit begins with it: takes back what graph_resolve() decided, if the graph is resolved. */
void graph_unsettle(struct graph *graph);
/* Every edit ends with it: views are open again, and an eager graph propagates. */
void graph_edited(struct graph *graph);

/* An index into a node's inputs, or into the graph's outputs if node is NULL, now uses `value`. The order must
 * allow it. Marks nothing. */
void use_change(struct graph *graph, struct node *node, int input, struct value *value);
/* The value of a use. */
struct value *use_value(const struct graph *graph, const struct node *node, int input);
/* Changes every use of `old`. */
void uses_move(struct value *old, struct value *new_value);
/* Removes a node whose outputs have no uses. */
void node_remove(struct node *node);
/* The node's store of an output, made on demand. */
struct storage *node_store(struct node *node, int output);

/* The arguments of the functions of the node's operator. Arrays that fit are part of it; clear it. */
#define CALL_INPUTS 8
struct node_call {
    struct op_call call;
    const struct shape *inputs[CALL_INPUTS];
    const struct tensor *constants[CALL_INPUTS];
};
void node_call_init(struct node_call *call, const struct node *node);
void node_call_clear(struct node_call *call);

/* Computes the shapes of the node's outputs now, from inputs that are up to date, and marks the users of those that
 * changed as pending. */
void node_compute(struct node *node);

#endif
