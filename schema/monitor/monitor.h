/*
 * A small HTTP server on a libuv loop: GET /metrics and GET /health, asked by
 * Prometheus and by whoever keeps the process running. It disturbs nobody:
 * connections are few (256, and at most a quarter of the files that the process
 * may have open), each answers one request, may use 16 KiB and last 15 seconds,
 * and nothing of a request but its path is read. Where there are more, the oldest unfinished request is closed, so clients that open
 * connections and send no request do not keep others from their answer.
 *
 * All calls belong to the loop's thread.
 */
#ifndef SCHEMA_MONITOR_MONITOR_H
#define SCHEMA_MONITOR_MONITOR_H

#include <glib.h>
#include <stdbool.h>
#include <uv.h>

#define MONITOR_ERROR (monitor_error_quark())
GQuark monitor_error_quark(void);

enum monitor_error {
    MONITOR_ERROR_LISTEN, /* It cannot listen where it was told to. */
};

typedef struct monitor Monitor;

struct monitor_callbacks {
    /* Appends the metrics. */
    void (*metrics)(void *data, GString *text);
    /* Appends a line a reason why the process is not well; none: it is. */
    void (*health)(void *data, GString *reasons);
};

/* place: "PORT", "ADDRESS:PORT", "[IPV6]:PORT"; without an address 127.0.0.1. Port 0 takes a free one. */
Monitor *monitor_open(uv_loop_t *loop, const char *place, const struct monitor_callbacks *callbacks,
                      void *data, GError **error);
/* NULL is allowed. The loop must run on until its handles are closed. */
void monitor_close(Monitor *monitor);
/* Where it listens: "http://127.0.0.1:9464". */
const char *monitor_url(const Monitor *monitor);

#endif
