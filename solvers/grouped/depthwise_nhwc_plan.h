/*
 * What kernels/device/grouped/conv_depthwise_nhwc.cl and conv_depthwise_nhwc_w.cl make of a problem and a config,
 * and the space of those configs.
 */
#ifndef SOLVERS_GROUPED_DEPTHWISE_NHWC_PLAN_H
#define SOLVERS_GROUPED_DEPTHWISE_NHWC_PLAN_H

#include "solvers/framework/space.h"

enum depthwise_nhwc_param {
    NHWC_ITEMS,  /* of a workgroup, at most */
    NHWC_VECTOR, /* channels of an item */
    NHWC_TILE_H, /* rows of results of an item (B: whole strides); W: of outputs that are read at once */
    NHWC_TILE_W,
    NHWC_LOAD, /* W: workgroups a compute unit, by parts of the outputs; F, B, and for one part: 0 */
    NHWC_PARAM_COUNT
};

extern const struct space depthwise_nhwc_space;

/* Filters, and how far apart their first and last position may be, strides likewise. */
#define NHWC_FILTER_MOST 7
#define NHWC_REACH_MOST  32
#define NHWC_STRIDE_MOST 4

struct depthwise_nhwc_plan {
    int64_t items; /* F, B: in all */
    bool keep_weights;

    /* W only. */
    int64_t filter_rows;   /* that an item sums */
    int64_t channel_items; /* of a workgroup, side by side along the channels */
    int64_t position_items;
    int64_t workgroups; /* for one part of the outputs */
    int64_t units;      /* of outputs */
    int64_t part;       /* units in a part */
    int64_t splits;     /* parts */
};

void depthwise_nhwc_plan_init(struct depthwise_nhwc_plan *plan, const struct problem *p,
                              const struct context *context, const int32_t *values);

/* The config to use when nothing is tuned; it is in the space. */
void depthwise_nhwc_default_config(const struct problem *p, const struct context *context,
                                   struct perf_config *config);

/* Bytes of the parts that the most splits within the context's limit leave. */
uint64_t depthwise_nhwc_workspace_bytes(const struct problem *p, const struct context *context);

#endif
