/*
 * The space of ConvDepthwise, and how its kernels (kernels/device/grouped/conv_depthwise.cl and
 * conv_depthwise_w.cl) divide a problem by a config. On GPUs a workgroup has 64 to 256 work-items, which hold
 * rows of the source in registers. On CPUs a workgroup is one work-item, which computes in vector registers and
 * holds rows in memory.
 */
#ifndef SOLVERS_GROUPED_DEPTHWISE_PLAN_H
#define SOLVERS_GROUPED_DEPTHWISE_PLAN_H

#include "solvers/framework/space.h"

enum depthwise_param {
    DEPTHWISE_ITEMS,
    DEPTHWISE_VEC,
    DEPTHWISE_TILE_H, /* rows of a tile; W: filter rows that a workgroup sums */
    DEPTHWISE_TILE_W, /* vectors in a row of a tile */
    DEPTHWISE_REPEAT, /* tiles that a work-item computes one after the other; W: 1 */
    DEPTHWISE_SPLITS, /* W: parts of the outputs that are summed in parallel; F and B: 1 */
    DEPTHWISE_PARAM_COUNT
};

#define DEPTHWISE_ITEMS_MOST 256

extern const struct space depthwise_space;

/* The axis of a vector's lanes and of a workgroup's work-items: the one that is densest in memory. */
enum depthwise_lanes { LANES_W, LANES_C, LANES_N };

enum depthwise_lanes depthwise_lanes(const struct problem *p);

struct depthwise_plan {
    int64_t tiles; /* F, B: work-items in all */
    int64_t chunk; /* filter columns whose sources are loaded together */
    bool unroll;   /* F, B: all filter positions are unrolled */
    bool keep_weights;

    /* Only for W. */
    int64_t channel_items; /* work-items of a workgroup along the channels; a power of two */
    int64_t workgroups;    /* workgroups of one part of the outputs */
    int64_t part;          /* units of outputs in a part */
    int64_t splits;        /* number of parts, at most the config's */
};

void depthwise_plan_init(struct depthwise_plan *plan, const struct problem *p,
                         const struct context *context, const int32_t *values);

/* Sets the config where nothing was tuned; it is in the space. */
void depthwise_default_config(const struct problem *p, const struct context *context,
                              struct perf_config *config);

/* Bytes of the parts of the most splits within the context's limit. */
uint64_t depthwise_workspace_bytes(const struct problem *p, const struct context *context);

#endif
