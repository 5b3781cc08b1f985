/*
 * INT8 by calibration. The network runs on the host with sample inputs; the contents of its tensors give their scales
 * (an INT8 element q means q * scale; zero points are 0). Convolutions with constant filters then compute with INT8
 * operands and INT32 sums, and requantise in their epilogues; the filter's scales are one for each output channel, or
 * one. Pools of the largest, joins, parts, borders and resizes by the nearest element carry INT8 between them; tensors
 * that they tie together have one scale. All else stays in FP32, with quantising and dequantising kernels between.
 */
#ifndef COORDINATOR_NETWORK_PASSES_QUANTISE_H
#define COORDINATOR_NETWORK_PASSES_QUANTISE_H

#include "coordinator/network/graph.h"

enum calibration {
    CALIBRATION_MIN_MAX, /* the largest absolute value becomes 127 */
    CALIBRATION_PERCENTILE, /* the value above `percentile` percent of all becomes 127; larger ones saturate */
    CALIBRATION_LEAST_ERROR, /* the limit with the least mean square of rounding and cutting off */
};
#define CALIBRATION_COUNT (CALIBRATION_LEAST_ERROR + 1)
/* All names, for messages. */
#define CALIBRATION_NAMES "min_max, percentile or least_error"
const char *
calibration_name(enum calibration calibration); /* "min_max", "percentile", "least_error" */
bool calibration_parse(const char *name, enum calibration *calibration);

struct quantise_options {
    /* Inputs as a plan's samples are, `sample_count` runs one behind the other; NULL: that many runs of random numbers
     * from -1 to 1, which follow from the seed. The caller's. */
    const float *samples;
    int sample_count;
    guint64 seed;
    enum calibration calibration;
    double percentile; /* for CALIBRATION_PERCENTILE: 99.99 */
    bool per_tensor;   /* one scale for a whole filter */
    bool first_in_fp32,
        last_in_fp32; /* convolutions that read an input, or give an output, stay as they are */
    int threads;      /* 0: as many as the machine has */
};
void quantise_options_init(struct quantise_options *options);

struct quantise_result {
    int quantised, kept; /* convolutions */
    bool samples_are_random;
};

/* Quantises a lowered and fused graph in FP32, and resolves it. Errors are the host's (host_eval.h). *result may be
 * NULL. */
bool network_quantise(struct graph *graph, const struct quantise_options *options,
                      struct quantise_result *result, GError **error);

#endif
