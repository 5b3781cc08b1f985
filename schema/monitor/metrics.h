/*
 * Metrics in Prometheus' text format 0.0.4: a metric's HELP and TYPE, then its
 * samples. deploy/metrics.md lists the metrics.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#ifndef SCHEMA_MONITOR_METRICS_H
#define SCHEMA_MONITOR_METRICS_H

#include <glib.h>
#include <stdint.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name; /* a counter's name ends in _total */
    enum metric_kind kind;
    const char *help;
};

/* A histogram of durations: counts[i] is the number of at most histogram_bounds[i] seconds, the last count
 * that of longer ones. */
#define HISTOGRAM_BOUNDS 9
extern const double histogram_bounds[HISTOGRAM_BOUNDS];
struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1];
    double sum_seconds;
};
void histogram_add(struct histogram *histogram, double seconds);

/* Writes HELP and TYPE. The metric's samples follow without others in between. */
void metric_begin(GString *out, const struct metric *metric);
/* Writes a sample. After value: label names, each followed by its value (any bytes; NULL is ""), and NULL
 * at the end. */
G_GNUC_NULL_TERMINATED
void metric_sample(GString *out, const struct metric *metric, double value, ...);
/* Writes all samples of a histogram, with one label. */
void metric_histogram(GString *out, const struct metric *metric, const struct histogram *histogram,
                      const char *label, const char *label_value);

#endif
