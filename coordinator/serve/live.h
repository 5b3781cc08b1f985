/*
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html):
 * each event is written once, and its bytes are shared by all listeners. The last
 * events are kept, so that a client that connects again gets what it missed.
 *
 * All calls are made on the loop's thread.
 */
#ifndef COORDINATOR_SERVE_LIVE_H
#define COORDINATOR_SERVE_LIVE_H

#include "schema/monitor/http_server.h"

#include <jansson.h>

enum live_topic {
    LIVE_FARM,
    LIVE_CAMPAIGN,
    LIVE_NODE,
    LIVE_LOG,
    LIVE_RATE,
    LIVE_DATABASE,
    LIVE_TOPICS
};

typedef struct live Live;

Live *live_new(uv_loop_t *loop);
/* Ends the heartbeats; the loop must run until the timer is closed. Streams end with the HTTP server. */
void live_end(Live *live);
/* After the loop has ended. */
void live_free(Live *live);

/* Sends an event to all who listen to the topic. name: "campaign-gone". data is borrowed. */
void live_send(Live *live, enum live_topic topic, const char *name, const json_t *data);
/* Makes a listener of the request. topics: names with commas between, NULL for all. hello: its first event's data,
 * borrowed. Answers 400 for unknown topics. */
void live_listen(Live *live, HttpRequest *request, const char *topics, const json_t *hello);

struct live_counts {
    unsigned listeners;
    uint64_t events;
};
void live_counts(const Live *live, struct live_counts *counts);

#endif
