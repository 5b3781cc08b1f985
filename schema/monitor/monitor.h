/*
 * Each long-lived process reports about itself over HTTP: GET /metrics for
 * Prometheus, and GET /health for supervisors, as routes of http_server.h.
 *
 * All calls are made on the loop's thread.
 */
#ifndef SCHEMA_MONITOR_MONITOR_H
#define SCHEMA_MONITOR_MONITOR_H

#include "schema/monitor/http_server.h"

struct monitor_callbacks {
    /* Appends the metrics to the text. */
    void (*metrics)(void *data, GString *text);
    /* Appends one line for each reason why the process is unhealthy; no line: healthy. */
    void (*health)(void *data, GString *reasons);
};

/* A server with these two routes alone, whose connections bring one request each. place: as in http_server_open().
 * Close it by http_server_close(). callbacks stays valid. */
HttpServer *monitor_open(uv_loop_t *loop, const char *place,
                         const struct monitor_callbacks *callbacks, void *data, GError **error);

/* Answers for servers with routes of their own. */
void monitor_answer_metrics(const struct monitor_callbacks *callbacks, void *data,
                            HttpRequest *request);
void monitor_answer_health(const struct monitor_callbacks *callbacks, void *data,
                           HttpRequest *request);

#endif
