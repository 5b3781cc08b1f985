/*
 * Evaluates a graph on the host: the reference for whole networks, the source of INT8 calibration, and the check of
 * passes. Sums are in double precision; each result is rounded once to its type. Slow beside a device, fast enough
 * to be used: ResNet-50 takes seconds.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_EVAL_H
#define COORDINATOR_NETWORK_HOST_HOST_EVAL_H

#include "coordinator/network/graph.h"
#include "coordinator/network/host/host_array.h"

struct host_options {
    int threads; /* 0: as many as the machine has */
    /* NULL, or is shown each value as soon as it is computed: inputs and results of nodes, views included. */
    void (*observe)(void *context, struct value *value, const struct host_array *array);
    void *context;
};

/* Evaluates the graph, whose shapes must be known. inputs: one for each of graph->inputs, of its dimensions, in any
 * type: it is converted. Sets outputs[i], for each of graph->outputs, to a new tensor. NETWORK_ERROR_UNSUPPORTED names the
 * node that it cannot compute, or the constant that has no data; outputs are then untouched. options may be NULL. */
bool host_evaluate(struct graph *graph, struct tensor *const *inputs,
                   const struct host_options *options, struct tensor **outputs, GError **error);

/* The same for arrays of FP32 as a plan's samples are: all inputs, one behind the other, and all outputs likewise.
 * Free *outputs with g_free(). */
bool host_evaluate_samples(struct graph *graph, const float *inputs, int64_t input_count,
                           const struct host_options *options, float **outputs,
                           int64_t *output_count, GError **error);

/* Computes one node from the contents of its inputs, all of which must be known. outputs[i] becomes a new tensor. */
bool host_evaluate_node(struct node *node, struct tensor **outputs, GError **error);

/* Whether the host computes the node's operator. */
bool host_knows(const struct node *node);

#endif
