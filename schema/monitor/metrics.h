/*
 * Prometheus' text format, 0.0.4: each metric's HELP and TYPE, then its
 * samples. deploy/metrics.md lists what there is.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#ifndef SCHEMA_MONITOR_METRICS_H
#define SCHEMA_MONITOR_METRICS_H

#include <glib.h>
#include <stdint.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name; /* a counter's ends in _total */
    enum metric_kind kind;
    const char *help;
};

/* How long something takes: counts[i] of at most histogram_bounds[i] seconds, the last of more. */
#define HISTOGRAM_BOUNDS 9
extern const double histogram_bounds[HISTOGRAM_BOUNDS];
struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1];
    double sum_seconds;
};
void histogram_add(struct histogram *histogram, double seconds);

/* HELP and TYPE: before the metric's samples, which stand together. */
void metric_begin(GString *out, const struct metric *metric);
/* A sample. Labels are names, each followed by its value (NULL is ""), and end with NULL; the values may
 * be any bytes. */
G_GNUC_NULL_TERMINATED
void metric_sample(GString *out, const struct metric *metric, double value, ...);
/* All samples of a histogram, under one label. */
void metric_histogram(GString *out, const struct metric *metric, const struct histogram *histogram,
                      const char *label, const char *label_value);

#endif
