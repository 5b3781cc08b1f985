/*
 * What kernels/device/grouped/conv_depthwise.cl and conv_depthwise_w.cl make of a
 * problem and a config, and the space of those configs. On GPUs workgroups
 * hold 64 to 256 items and rows of the source lie in registers; on CPUs an item
 * is a workgroup, computes with its vector registers, and keeps rows in memory.
 */
#ifndef SOLVERS_GROUPED_DEPTHWISE_PLAN_H
#define SOLVERS_GROUPED_DEPTHWISE_PLAN_H

#include "solvers/framework/space.h"

enum depthwise_param {
    DEPTHWISE_ITEMS,
    DEPTHWISE_VEC,
    DEPTHWISE_TILE_H, /* rows of a tile; W: rows of the filter that a workgroup sums */
    DEPTHWISE_TILE_W, /* vectors of a tile's row */
    DEPTHWISE_REPEAT, /* tiles that an item computes one after the other; W: 1 */
    DEPTHWISE_SPLITS, /* W: parts of the outputs that are summed side by side; F and B: 1 */
    DEPTHWISE_PARAM_COUNT
};

#define DEPTHWISE_ITEMS_MOST 256

extern const struct space depthwise_space;

/* The axis along which a vector's lanes and a workgroup's items lie: the densest in memory. */
enum depthwise_lanes { LANES_W, LANES_C, LANES_N };

enum depthwise_lanes depthwise_lanes(const struct problem *p);

struct depthwise_plan {
    int64_t tiles; /* F, B: items in all */
    int64_t chunk; /* filter columns whose sources are staged together */
    bool unroll;   /* F, B: all taps are spelled out */
    bool keep_weights;

    /* W only. */
    int64_t channel_items; /* of a workgroup, side by side along the channels; a power of two */
    int64_t workgroups;    /* for one part of the outputs */
    int64_t part;          /* units of outputs in a part */
    int64_t splits;        /* parts that there are, at most what the config asks for */
};

void depthwise_plan_init(struct depthwise_plan *plan, const struct problem *p,
                         const struct context *context, const int32_t *values);

/* The config to use when nothing is tuned; it is in the space. */
void depthwise_default_config(const struct problem *p, const struct context *context,
                              struct perf_config *config);

/* Bytes of the parts that the most splits within the context's limit leave. */
uint64_t depthwise_workspace_bytes(const struct problem *p, const struct context *context);

#endif
