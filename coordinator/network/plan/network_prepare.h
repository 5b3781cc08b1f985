/*
 * From a network as its file says it to a plan, by the global knobs: the passes of passes/ in their order, then the plan
 * builder. PASSES.md shows the order with an example.
 */
#ifndef COORDINATOR_NETWORK_PLAN_NETWORK_PREPARE_H
#define COORDINATOR_NETWORK_PLAN_NETWORK_PREPARE_H

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/layout_pass.h"
#include "coordinator/network/passes/quantise.h"
#include "coordinator/network/plan/plan_builder.h"

/* The layouts of activations. */
enum layout_choice {
    LAYOUT_CHOICE_NCHW,  /* all NCHW (3D: NCDHW) */
    LAYOUT_CHOICE_NHWC,  /* all NHWC (3D: NDHWC) */
    LAYOUT_CHOICE_LAYER, /* each layer by itself: `cost` says what a layer takes in each layout */
};
#define LAYOUT_CHOICE_COUNT (LAYOUT_CHOICE_LAYER + 1)
const char *layout_choice_name(enum layout_choice choice); /* "NCHW", "NHWC", "per_layer" */
bool layout_choice_parse(const char *name, enum layout_choice *choice);

/* INT8 networks as calibration left them, before a layout is chosen, by their level of fusion. Networks that differ in
 * layout alone are calibrated once by sharing this. All calls that share one have the same graph, batch, seed and
 * quantise_options. Begin with zeros. */
struct calibrated_networks {
    struct calibrated_network {
        struct graph *graph; /* NULL until a network with this level was prepared */
        struct quantise_result quantised;
        bool weights_are_generated;
    } levels[FUSION_LEVEL_COUNT];
};
void calibrated_networks_clear(struct calibrated_networks *calibrated);

struct prepare_options {
    const char *network; /* NULL: the graph's name */
    int64_t batch;       /* 0: the model's */
    /* The type that the network computes in: TYPE_FP32, TYPE_FP16, TYPE_BF16, TYPE_FP64, or TYPE_INT8 by calibration.
     * Inputs and outputs have the same type, except for INT8: they are FP32. An INT8 network has bias and activation
     * fused at least. */
    enum data_type type;
    bool tf32; /* for TYPE_FP32: struct plan_options */
    enum layout_choice layout;
    struct layout_costs costs; /* for LAYOUT_CHOICE_LAYER; all zero: estimates (layout_pass.h) */
    enum fusion_level fusion;
    bool in_place;                    /* struct plan_options */
    struct quantise_options quantise; /* for TYPE_INT8 */
    struct calibrated_networks
        *calibrated; /* for TYPE_INT8: read and added to; NULL: calibrates each time */
    bool (*serves)(const struct problem *problem, void *context); /* struct plan_options */
    void *context;
    uint64_t seed; /* of weights that the model has no data for */
};
/* Neutral options: the model's batch, FP32, NCHW, everything fused, in place, seed 1. */
void prepare_options_init(struct prepare_options *options);

/* A network that is ready: the changed graph, for the host interpreter, and the plan. */
struct prepared_network {
    struct graph *graph;
    struct network_plan *plan;
    bool weights_are_generated;
    struct quantise_result quantised; /* for TYPE_INT8 */
};
void prepared_network_clear(struct prepared_network *prepared);

/* Prepares a copy of the graph; `graph` itself is only propagated. Errors name the node and the reason. *prepared is
 * empty then. */
bool network_prepare(struct graph *graph, const struct prepare_options *options,
                     struct prepared_network *prepared, GError **error);

/* The network in FP32 as the model says it, nothing lowered or changed but the batch, with the same generated weights:
 * what outputs are compared with. Free with graph_free(). NULL with an error. */
struct graph *network_reference(struct graph *graph, const struct prepare_options *options,
                                GError **error);

#endif
