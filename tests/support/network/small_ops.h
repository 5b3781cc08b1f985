/*
 * A few operators for tests of the graph, with what they compute, and two ways to compute a whole graph of them: by
 * values, without memory, and as a resolved graph would really run, through strides and stored types. All results
 * are small multiples of 1/2, exact in every float type, so that the two must agree.
 */
#ifndef TESTS_SUPPORT_NETWORK_SMALL_OPS_H
#define TESTS_SUPPORT_NETWORK_SMALL_OPS_H

#include "coordinator/network/graph.h"

extern const struct op
    small_relu; /* elementwise: reads and writes everything, follows its input's order */
extern const struct op small_add;    /* two inputs, broadcast; reads everything, stores any order */
extern const struct op small_matmul; /* [m,k] x [k,n]: reads any order, stores any order and type */
extern const struct op small_strict; /* negates; reads and writes packed tensors alone */
extern const struct op small_split;  /* halves axis 0: two outputs; packed alone */
extern const struct op small_shape;  /* the dimensions of its input as int64, which are known */
extern const struct op
    small_reshape_to; /* a view: input 0 with the dimensions that input 1 contains */

/* A packed shape; aborts if it is wrong. */
struct shape small_packed(enum element_type type, int rank, const int64_t *dims);

/* The packed elements (double *) of the graph's outputs, one array for each: by values. All shapes must be
 * known. Inputs have contents that depend on their names. */
GPtrArray *small_outputs_by_value(const struct graph *graph);
/* The same as the graph's instructions would compute it in memory. The graph must be resolved. */
GPtrArray *small_outputs_in_memory(const struct graph *graph);

#endif
