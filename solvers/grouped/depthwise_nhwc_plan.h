/*
 * The space of ConvDepthwiseNhwc, and how its kernels (kernels/device/grouped/conv_depthwise_nhwc.cl and
 * conv_depthwise_nhwc_w.cl) divide a problem by a config.
 */
#ifndef SOLVERS_GROUPED_DEPTHWISE_NHWC_PLAN_H
#define SOLVERS_GROUPED_DEPTHWISE_NHWC_PLAN_H

#include "solvers/framework/space.h"

enum depthwise_nhwc_param {
    NHWC_ITEMS,  /* the most work-items of a workgroup */
    NHWC_VECTOR, /* channels of a work-item */
    NHWC_TILE_H, /* rows of results of a work-item (B: whole strides); W: rows of outputs that are read together */
    NHWC_TILE_W,
    NHWC_LOAD, /* W: workgroups for each compute unit, by dividing the outputs into parts; 0 for F, B, and one part */
    NHWC_PARAM_COUNT
};

extern const struct space depthwise_nhwc_space;

/* The largest filter, and the largest distance of its first and last position; the largest strides. */
#define NHWC_FILTER_MOST 7
#define NHWC_REACH_MOST  32
#define NHWC_STRIDE_MOST 4

struct depthwise_nhwc_plan {
    int64_t items; /* F, B: work-items in all */
    bool keep_weights;

    /* Only for W. */
    int64_t filter_rows;   /* filter rows that a work-item sums */
    int64_t channel_items; /* work-items of a workgroup along the channels */
    int64_t position_items;
    int64_t workgroups; /* workgroups of one part of the outputs */
    int64_t units;      /* units of outputs in all */
    int64_t part;       /* units of a part */
    int64_t splits;     /* number of parts */
};

void depthwise_nhwc_plan_init(struct depthwise_nhwc_plan *plan, const struct problem *p,
                              const struct context *context, const int32_t *values);

/* Sets the config where nothing was tuned; it is in the space. */
void depthwise_nhwc_default_config(const struct problem *p, const struct context *context,
                                   struct perf_config *config);

/* Bytes of the parts of the most splits within the context's limit. */
uint64_t depthwise_nhwc_workspace_bytes(const struct problem *p, const struct context *context);

#endif
