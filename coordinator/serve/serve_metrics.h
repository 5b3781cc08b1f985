/*
 * The metrics of serve, for Prometheus: the farm's state as it was read last, and serve's
 * own counts. deploy/metrics.md lists the metrics.
 */
#ifndef COORDINATOR_SERVE_SERVE_METRICS_H
#define COORDINATOR_SERVE_SERVE_METRICS_H

#include "coordinator/serve/api.h"
#include "coordinator/serve/upkeeper.h"

struct metrics_about {
    const char *node;
    const HttpServer *server;
    const Watch *watch;
    const Live *live;
    const Ask *asking;
    const Api *api;
    const struct upkeeper *upkeeper;
};

/* Appends all metrics. */
void metrics_write(const struct metrics_about *about, GString *text);

#endif
