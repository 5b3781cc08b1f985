/*
 * A small HTTP server on a libuv loop: GET /metrics for Prometheus, and GET
 * /health for supervisors. It is harmless to its process: at most 256
 * connections, and at most a quarter of the files that the process may open. A
 * connection answers one request, may use 16 KiB, and lasts up to 15 seconds.
 * Only a request's path is read. Beyond the limit the oldest unfinished request
 * is closed, so that clients that send no request do not block others.
 *
 * All calls are made on the loop's thread.
 */
#ifndef SCHEMA_MONITOR_MONITOR_H
#define SCHEMA_MONITOR_MONITOR_H

#include <glib.h>
#include <stdbool.h>
#include <uv.h>

#define MONITOR_ERROR (monitor_error_quark())
GQuark monitor_error_quark(void);

enum monitor_error {
    MONITOR_ERROR_LISTEN, /* It cannot listen at the given place. */
};

typedef struct monitor Monitor;

struct monitor_callbacks {
    /* Appends the metrics to the text. */
    void (*metrics)(void *data, GString *text);
    /* Appends one line for each reason why the process is unhealthy; no line: healthy. */
    void (*health)(void *data, GString *reasons);
};

/* Starts the server. place: "PORT", "ADDRESS:PORT" or "[IPV6]:PORT"; the default address is 127.0.0.1, and
 * port 0 takes a free one. */
Monitor *monitor_open(uv_loop_t *loop, const char *place, const struct monitor_callbacks *callbacks,
                      void *data, GError **error);
/* Stops the server; NULL does nothing. The loop must run until the handles are closed. */
void monitor_close(Monitor *monitor);
/* The URL at which it listens: "http://127.0.0.1:9464". */
const char *monitor_url(const Monitor *monitor);

#endif
